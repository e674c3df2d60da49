-- tables: sales, items, orders, what still has to reach the gate, leased node ids.
-- In      an empty database
-- Out     the tables of the ledger; times are timestamptz, money is integer minor units, ids are 64-bit
-- Keeps   available between 0 and units; one live order per buyer and item; one order per buyer, item and attempt unless refused

CREATE TABLE sales (
  id             bigint PRIMARY KEY,
  name           text NOT NULL,
  opens_at       timestamptz NOT NULL,
  closes_at      timestamptz NOT NULL,
  warm_before_ms bigint NOT NULL DEFAULT 1800000 CHECK (warm_before_ms >= 0),
  state          text NOT NULL DEFAULT 'draft' CHECK (state IN ('draft', 'ready', 'paused', 'over')),
  rule           text NOT NULL DEFAULT 'first_come' CHECK (rule IN ('first_come', 'draw')),
  created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK (opens_at < closes_at)
);

-- One hot row an item: half-empty pages keep its updates on the page, without touching an index.
CREATE TABLE items (
  id               bigint PRIMARY KEY,
  sale             bigint NOT NULL REFERENCES sales (id) ON DELETE CASCADE,
  position         int NOT NULL,
  sku              text,
  name             text NOT NULL,
  image            text,
  price_minor      bigint NOT NULL CHECK (price_minor >= 0),
  list_price_minor bigint CHECK (list_price_minor >= 0),
  currency         text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  units            int NOT NULL CHECK (units >= 0),
  available        int NOT NULL,
  quantity_max     int NOT NULL CHECK (quantity_max >= 1),
  attempts_max     int NOT NULL CHECK (attempts_max >= 1),
  pay_within_ms    bigint NOT NULL CHECK (pay_within_ms > 0),
  when_gate_down   text NOT NULL DEFAULT 'ledger' CHECK (when_gate_down IN ('ledger', 'shut')),
  home_door        text NOT NULL DEFAULT 'gate' CHECK (home_door IN ('gate', 'ledger')),
  shards           int NOT NULL DEFAULT 1 CHECK (shards BETWEEN 1 AND 64),
  door             text NOT NULL DEFAULT 'shut' CHECK (door IN ('gate', 'draining', 'ledger', 'shut')),
  epoch            bigint NOT NULL DEFAULT 0,
  gate_epoch       bigint NOT NULL DEFAULT 0,
  change_no        int NOT NULL DEFAULT 0,
  CONSTRAINT available_within_units CHECK (available BETWEEN 0 AND units),
  CHECK (gate_epoch <= epoch),
  UNIQUE (sale, position)
) WITH (fillfactor = 50);

-- Keys lead with what is looked up: an order by its id alone, a buyer's orders over all items.
CREATE TABLE orders (
  id            bigint NOT NULL,
  item          bigint NOT NULL,
  buyer         text NOT NULL,
  attempt       int NOT NULL CHECK (attempt >= 1),
  quantity      int NOT NULL CHECK (quantity >= 1),
  price_minor   bigint NOT NULL,
  currency      text NOT NULL,
  state         text NOT NULL CHECK (state IN ('pending', 'paid', 'closed')),
  reason        text CHECK (reason IN ('unpaid', 'cancelled', 'refused', 'refunded')),
  superseded_by bigint,
  epoch         bigint NOT NULL,
  reserved_at   timestamptz NOT NULL,
  placed_at     timestamptz NOT NULL,
  pay_by        timestamptz,
  paid_at       timestamptz,
  closed_at     timestamptz,
  version       int NOT NULL DEFAULT 1,
  PRIMARY KEY (id, item),
  CHECK ((state = 'closed') = (reason IS NOT NULL)),
  CHECK ((state = 'closed') = (closed_at IS NOT NULL))
) PARTITION BY HASH (item);

CREATE TABLE orders_0 PARTITION OF orders FOR VALUES WITH (MODULUS 4, REMAINDER 0);
CREATE TABLE orders_1 PARTITION OF orders FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE orders_2 PARTITION OF orders FOR VALUES WITH (MODULUS 4, REMAINDER 2);
CREATE TABLE orders_3 PARTITION OF orders FOR VALUES WITH (MODULUS 4, REMAINDER 3);

CREATE UNIQUE INDEX orders_attempt ON orders (buyer, item, attempt) WHERE reason IS DISTINCT FROM 'refused';
CREATE UNIQUE INDEX orders_live ON orders (item, buyer) WHERE state <> 'closed';
-- The sweeper asks over all items at once.
CREATE INDEX orders_due ON orders (pay_by) WHERE state = 'pending';

-- A node id is a lease with a bound: its holder makes no order id in a millisecond beyond until_ms, its successor starts after it.
CREATE TABLE nodes (
  id           int PRIMARY KEY CHECK (id BETWEEN 0 AND 1023),
  holder       text NOT NULL,
  until_ms     bigint NOT NULL,
  lease_until  timestamptz NOT NULL
);

-- money_and_time: what has to reach the gate, numbered stock changes, payments, callbacks seen, who changed what, reconciliations.
-- In      the tables of 0001
-- Out     releases, stock_changes, payments, callbacks, audit_log, idempotency, reconciliations
-- Keeps   one captured payment per order; a payment's reference is unique per provider; changes are numbered per item without gaps

-- Written by the transaction that closes an order, deleted when the gate has done it. pieces is what comes back: 0 when units were written off.
CREATE TABLE releases (
  order_id bigint PRIMARY KEY,
  item     bigint NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  buyer    text NOT NULL,
  attempt  int NOT NULL,
  pieces   int NOT NULL CHECK (pieces >= 0),
  outcome  text NOT NULL CHECK (outcome IN ('closed', 'gone')),
  at       timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX releases_item ON releases (item, order_id);

-- asked: a decrease the gate has to give up first; applied: an increase the ledger has and the gate not yet; done: both agree.
CREATE TABLE stock_changes (
  item   bigint NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  no     int NOT NULL,
  delta  int NOT NULL CHECK (delta <> 0),
  taken  int,
  state  text NOT NULL CHECK (state IN ('asked', 'applied', 'done')),
  reason text NOT NULL,
  by     text NOT NULL,
  key    text UNIQUE,
  at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (item, no),
  CHECK ((state = 'asked') = (taken IS NULL))
);
-- One change of an item is under way at a time.
CREATE UNIQUE INDEX stock_changes_open ON stock_changes (item) WHERE state <> 'done';

CREATE TABLE payments (
  id           bigint PRIMARY KEY,
  order_id     bigint NOT NULL,
  item         bigint NOT NULL,
  provider     text NOT NULL,
  ref          text NOT NULL,
  amount_minor bigint NOT NULL CHECK (amount_minor >= 0),
  currency     text NOT NULL,
  state        text NOT NULL CHECK (state IN ('started', 'captured', 'void', 'refund_due', 'refunded')),
  why          text,
  started_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  captured_at  timestamptz,
  refunded_at  timestamptz,
  tries        int NOT NULL DEFAULT 0,
  next_try_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (provider, ref)
);
CREATE INDEX payments_order ON payments (order_id);
CREATE UNIQUE INDEX payments_one_capture ON payments (order_id) WHERE state = 'captured';
CREATE UNIQUE INDEX payments_one_open ON payments (order_id, provider) WHERE state = 'started';
CREATE INDEX payments_to_do ON payments (next_try_at) WHERE state IN ('started', 'refund_due');

CREATE TABLE callbacks (
  provider text NOT NULL,
  event    text NOT NULL,
  ref      text NOT NULL,
  outcome  text NOT NULL,
  at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (provider, event)
);

CREATE TABLE audit_log (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  by       text NOT NULL,
  action   text NOT NULL,
  sale     bigint,
  item     bigint,
  order_id bigint,
  details  jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_log_sale ON audit_log (sale, id);

-- subject is made before anything else is: the same key again finds the same subject, whatever became of the first try.
CREATE TABLE idempotency (
  key       text NOT NULL,
  call      text NOT NULL,
  body_hash text NOT NULL,
  subject   bigint NOT NULL,
  at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (call, key)
);

CREATE TABLE reconciliations (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sale        bigint NOT NULL REFERENCES sales (id) ON DELETE CASCADE,
  at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  final       boolean NOT NULL DEFAULT false,
  differences jsonb NOT NULL,
  repairs     jsonb NOT NULL,
  summary     jsonb
);
CREATE INDEX reconciliations_sale ON reconciliations (sale, id);
CREATE UNIQUE INDEX reconciliations_final ON reconciliations (sale) WHERE final;

-- archive: where the orders and payments of items go whose sale is over and settled, out of the tables that a sale writes.
-- In      the tables of 0001, 0003, 0010 and 0013
-- Out     orders_archive and payments_archive, with the same columns; all_orders and all_payments: both tables as one; items.archive,
--         nodes.archive_holder, deleted_items; archive_orders, recall_orders and recall_item; place, refuse_order, refund_order and capture
--         bring back what they need from the archive
-- Keeps   an order is in one of the two tables, with its payments; the functions that processes of an older version call find it in either.
--         Their other statements do not: nothing is archived while one of them has a lease, nor within the first days after this migration

-- NULL: nothing of the item is in the archive. moving: orders may be in either table. done: all are in the archive. An item that has anything there
-- is not sold: neither a gate's entries nor the ledger's door write orders of it past the unique keys of `orders`.
ALTER TABLE items ADD COLUMN archive text
  CHECK (archive IS NULL OR (archive IN ('moving', 'done') AND gate_epoch = 0 AND door IN ('shut', 'draining')));
-- What is on sale, and what is not archived yet. Its columns never change with an order.
CREATE INDEX items_to_archive ON items (id) WHERE archive IS DISTINCT FROM 'done';

-- The holder that knows of the archive, written with its lease. A holder of an older version does not write it.
ALTER TABLE nodes ADD COLUMN archive_holder text NOT NULL DEFAULT '';

CREATE TABLE orders_archive (LIKE orders INCLUDING DEFAULTS INCLUDING CONSTRAINTS, PRIMARY KEY (id));
CREATE INDEX orders_archive_item ON orders_archive (item, id);
CREATE INDEX orders_archive_buyer ON orders_archive (buyer, id);
CREATE TABLE payments_archive (LIKE payments INCLUDING DEFAULTS INCLUDING CONSTRAINTS, PRIMARY KEY (id), UNIQUE (provider, ref));
CREATE INDEX payments_archive_order ON payments_archive (order_id);

CREATE VIEW all_orders AS SELECT * FROM orders UNION ALL SELECT * FROM orders_archive;
CREATE VIEW all_payments AS SELECT * FROM payments UNION ALL SELECT * FROM payments_archive;

-- Items of deleted sales whose archived rows are still to be deleted (stampede retention).
CREATE TABLE deleted_items (item bigint PRIMARY KEY);

CREATE OR REPLACE FUNCTION recall_orders(p_item bigint, p_ids bigint[], p_buyers text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  back bigint[];
BEGIN
  SELECT array_agg(a.id) INTO back
  FROM (SELECT id FROM orders_archive WHERE id = ANY (p_ids) AND item = p_item
        UNION SELECT id FROM orders_archive WHERE buyer = ANY (p_buyers) AND item = p_item) a;
  WITH gone AS (DELETE FROM orders_archive WHERE id = ANY (back) RETURNING *) INSERT INTO orders SELECT * FROM gone;
  WITH gone AS (DELETE FROM payments_archive WHERE order_id = ANY (back) RETURNING *) INSERT INTO payments SELECT * FROM gone;
  UPDATE items SET archive = 'moving' WHERE id = p_item AND archive = 'done';
END
$$;

CREATE OR REPLACE FUNCTION recall_item(p_item bigint, p_max int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  page bigint[];
BEGIN
  PERFORM 1 FROM items WHERE id = p_item AND archive IS NOT NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  page := ARRAY(SELECT id FROM orders_archive WHERE item = p_item ORDER BY id LIMIT p_max);
  PERFORM recall_orders(p_item, page, '{}');
  IF cardinality(page) < p_max THEN UPDATE items SET archive = NULL WHERE id = p_item; END IF;
  RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION archive_orders(p_item bigint, p_after bigint, p_max int) RETURNS TABLE (moved int, last bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v       items%ROWTYPE;
  v_sale  sales%ROWTYPE;
  v_from  bigint;
  v_until bigint;
  page    bigint[];
  settled bigint[];
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE SKIP LOCKED;
  IF NOT FOUND OR v.archive = 'done' THEN RETURN; END IF;
  SELECT * INTO v_sale FROM sales WHERE id = v.sale;
  IF v.archive IS NULL THEN
    IF v.door NOT IN ('shut', 'ledger')
       OR NOT EXISTS (SELECT 1 FROM reconciliations r WHERE r.sale = v.sale AND r.final)
       OR EXISTS (SELECT 1 FROM releases r WHERE r.item = p_item)
       OR EXISTS (SELECT 1 FROM stock_changes c WHERE c.item = p_item AND c.state <> 'done')
       OR EXISTS (SELECT 1 FROM shard_moves m WHERE m.item = p_item AND m.state IN ('asked', 'taken')) THEN
      RETURN;
    END IF;
    UPDATE items SET archive = 'moving', door = 'shut', gate_epoch = 0 WHERE id = p_item;
  END IF;

  -- An order's id is made between its item's and the end of the sale, give or take a day: so the key finds an item's orders without reading
  -- all others. One that lies outside (a clock was wrong) stays where it is, and is found there.
  v_from := greatest(p_after + 1, p_item - (86400000::bigint << 22));
  -- No id is made after 2093, whenever the sale was to end: a shift beyond 64 bits would turn the bound round.
  v_until := least(floor(extract(epoch FROM v_sale.closes_at) * 1000)::bigint - 1704067200000 + 86400000, (1::bigint << 41) - 1) << 22;
  page := ARRAY(SELECT id FROM orders WHERE item = p_item AND id >= v_from AND id < v_until ORDER BY id LIMIT p_max FOR UPDATE);
  -- Read after the orders are locked: what was captured before is seen, and nothing is captured meanwhile.
  settled := ARRAY(
    SELECT o.id FROM orders o
    WHERE o.item = p_item AND o.id = ANY (page) AND o.state <> 'pending'
      AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.order_id = o.id)
      AND NOT EXISTS (
        SELECT 1 FROM payments p
        WHERE p.order_id = o.id AND (p.state IN ('started', 'refund_due') OR (p.state = 'captured' AND o.state <> 'paid'))));
  WITH gone AS (DELETE FROM orders WHERE item = p_item AND id = ANY (settled) RETURNING *) INSERT INTO orders_archive SELECT * FROM gone;
  WITH gone AS (DELETE FROM payments WHERE order_id = ANY (settled) RETURNING *) INSERT INTO payments_archive SELECT * FROM gone;
  IF cardinality(page) = p_max THEN
    RETURN QUERY SELECT cardinality(settled), page[p_max];
    RETURN;
  END IF;
  IF NOT EXISTS (
    SELECT 1 FROM orders WHERE item = p_item AND id >= p_item - (86400000::bigint << 22) AND id < v_until) THEN
    UPDATE items SET archive = 'done' WHERE id = p_item;
  END IF;
  RETURN QUERY SELECT cardinality(settled), NULL::bigint;
END
$$;

CREATE OR REPLACE FUNCTION capture(p_provider text, p_ref text, p_amount bigint, p_currency text, p_at_ms bigint)
RETURNS TABLE (outcome text, order_id bigint, item bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  p     payments%ROWTYPE;
  o     orders%ROWTYPE;
  v_order bigint;
  v_item  bigint;
  v_at  timestamptz := to_timestamp(p_at_ms / 1000.0);
BEGIN
  FOR i IN 1..2 LOOP
    SELECT a.order_id, a.item INTO v_order, v_item FROM all_payments a WHERE a.provider = p_provider AND a.ref = p_ref;
    IF FOUND THEN
      SELECT * INTO o FROM orders WHERE id = v_order AND item = v_item FOR UPDATE;
      SELECT * INTO p FROM payments WHERE provider = p_provider AND ref = p_ref FOR UPDATE;
      EXIT WHEN o.id IS NOT NULL AND p.id IS NOT NULL;
      -- One of them is in the archive, or went there meanwhile. Under the item's lock it stays where it is brought.
      PERFORM 1 FROM items WHERE id = v_item FOR UPDATE;
    END IF;
    -- No such payment, or its sale was deleted.
    IF NOT FOUND THEN
      RETURN QUERY SELECT 'unknown'::text, NULL::bigint, NULL::bigint;
      RETURN;
    END IF;
    PERFORM recall_orders(v_item, ARRAY[v_order], '{}');
  END LOOP;

  IF p.amount_minor <> p_amount OR p.currency <> p_currency THEN
    outcome := 'wrong_amount';
  ELSIF p.state IN ('captured', 'refund_due', 'refunded') THEN
    outcome := 'same';
  ELSIF o.state = 'pending' THEN
    UPDATE orders SET state = 'paid', paid_at = clock_timestamp(), version = version + 1 WHERE id = o.id AND item = o.item AND state = 'pending';
    UPDATE payments SET state = 'captured', captured_at = v_at WHERE id = p.id;
    outcome := 'paid';
  ELSE
    outcome := CASE o.state WHEN 'paid' THEN 'second' ELSE 'late' END;
    UPDATE payments SET state = 'refund_due', why = outcome, captured_at = v_at, tries = 0, next_try_at = clock_timestamp() WHERE id = p.id;
  END IF;
  RETURN QUERY SELECT outcome, p.order_id, p.item;
END
$$;

CREATE OR REPLACE FUNCTION refund_order(p_order bigint, p_item bigint, p_restock boolean) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v items%ROWTYPE;
  o orders%ROWTYPE;
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  IF v.archive IS NOT NULL THEN PERFORM recall_orders(p_item, ARRAY[p_order], '{}'); END IF;
  SELECT * INTO o FROM orders WHERE id = p_order AND item = p_item FOR UPDATE;
  IF NOT FOUND THEN RETURN 'unknown'; END IF;
  IF o.state = 'closed' AND o.reason = 'refunded' THEN RETURN 'same'; END IF;
  IF o.state <> 'paid' THEN RETURN 'not_paid'; END IF;

  UPDATE orders SET state = 'closed', reason = 'refunded', closed_at = clock_timestamp(), version = version + 1
  WHERE id = p_order AND item = p_item AND state = 'paid';
  IF p_restock THEN
    UPDATE items SET available = available + o.quantity WHERE id = p_item;
  ELSE
    UPDATE items SET units = units - o.quantity WHERE id = p_item;
  END IF;
  INSERT INTO releases (order_id, item, buyer, attempt, pieces, outcome)
  VALUES (o.id, o.item, o.buyer, o.attempt, CASE WHEN p_restock THEN o.quantity ELSE 0 END, CASE WHEN p_restock THEN 'closed' ELSE 'gone' END);
  UPDATE payments SET state = 'refund_due', why = 'operator', tries = 0, next_try_at = clock_timestamp()
  WHERE order_id = p_order AND state = 'captured';
  RETURN 'refunded';
END
$$;

CREATE OR REPLACE FUNCTION refuse_order(
  p_item bigint, p_epoch bigint, p_id bigint, p_buyer text, p_attempt int, p_quantity int, p_reserved_ms bigint
) RETURNS SETOF orders LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v        items%ROWTYPE;
  v_now    timestamptz;
  o        orders%ROWTYPE;
  standing bigint;
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  IF v.archive IS NOT NULL THEN PERFORM recall_orders(p_item, ARRAY[p_id], ARRAY[p_buyer]); END IF;
  SELECT * INTO o FROM orders WHERE id = p_id AND item = p_item;
  IF FOUND THEN
    IF o.buyer = p_buyer THEN RETURN NEXT o; END IF;
    RETURN;
  END IF;
  SELECT id INTO standing FROM orders
  WHERE buyer = p_buyer AND item = p_item AND reason IS DISTINCT FROM 'refused' AND (attempt = p_attempt OR state <> 'closed')
  ORDER BY state <> 'closed' DESC LIMIT 1;
  v_now := clock_timestamp();
  INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, reason, superseded_by, epoch,
                      reserved_at, placed_at, closed_at)
  VALUES (p_id, p_item, p_buyer, greatest(p_attempt, 1), greatest(p_quantity, 1), v.price_minor, v.currency, 'closed', 'refused',
          standing, p_epoch, to_timestamp(p_reserved_ms / 1000.0), v_now, v_now)
  RETURNING * INTO o;
  RETURN NEXT o;
END
$$;

CREATE OR REPLACE FUNCTION place(
  p_item bigint, p_epoch bigint, p_acknowledged boolean,
  p_ids bigint[], p_buyers text[], p_attempts int[], p_quantities int[], p_reserved_ms bigint[]
) RETURNS TABLE (
  status text, sale bigint, price_minor bigint, currency text, placed_at timestamptz, pay_by timestamptz, available int, odd jsonb
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v         items%ROWTYPE;
  n         int := cardinality(p_ids);
  v_now     timestamptz;
  v_pay_by  timestamptz;
  wanted    bigint;
  least_q   int;
  most_q    int;
  current_epoch boolean;
  taken     int := 0;
  oddities  jsonb := NULL;
  o         orders%ROWTYPE;
  standing  bigint;
BEGIN
  -- The usual case: the epoch is right, all fit and nobody collides with a row that stands, so their order does not matter. One update
  -- that locks, judges and takes, and one plain insert: asking for conflicts beforehand would look into every unique index twice.
  -- A collision undoes both and everybody is looked at one by one below, under a lock taken anew.
  SELECT sum(q), min(q), max(q) INTO wanted, least_q, most_q FROM unnest(p_quantities) AS q;
  BEGIN
    UPDATE items SET available = available - wanted
    WHERE id = p_item AND gate_epoch = p_epoch AND available >= wanted AND least_q >= 1 AND quantity_max >= most_q
    RETURNING * INTO v;
    IF FOUND THEN
      -- Read after the lock was granted, so that placed_at follows the order of placing.
      v_now := clock_timestamp();
      v_pay_by := v_now + v.pay_within_ms * interval '1 millisecond';
      INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
      SELECT a.id, p_item, a.buyer, a.attempt, a.quantity, v.price_minor, v.currency, 'pending', p_epoch,
             to_timestamp(a.reserved_ms / 1000.0), v_now, v_pay_by
      FROM unnest(p_ids, p_buyers, p_attempts, p_quantities, p_reserved_ms) AS a (id, buyer, attempt, quantity, reserved_ms);
      RETURN QUERY SELECT 'ok'::text, v.sale, v.price_minor, v.currency, v_now, v_pay_by, v.available, NULL::jsonb;
      RETURN;
    END IF;
  EXCEPTION WHEN unique_violation THEN
    NULL;
  END;

  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'no_item'::text, NULL::bigint, NULL::bigint, NULL::text, NULL::timestamptz, NULL::timestamptz, NULL::int, NULL::jsonb;
    RETURN;
  END IF;
  current_epoch := p_epoch = v.gate_epoch;
  IF NOT current_epoch AND NOT p_acknowledged THEN
    RETURN QUERY SELECT 'stale'::text, v.sale, v.price_minor, v.currency, NULL::timestamptz, NULL::timestamptz, v.available, NULL::jsonb;
    RETURN;
  END IF;
  -- No fast path leads here: the archive has set gate_epoch to 0.
  IF v.archive IS NOT NULL THEN PERFORM recall_orders(p_item, p_ids, p_buyers); END IF;
  v_now := clock_timestamp();
  v_pay_by := v_now + v.pay_within_ms * interval '1 millisecond';

  FOR i IN 1..n LOOP
    SELECT * INTO o FROM orders WHERE id = p_ids[i] AND item = p_item;
    IF FOUND THEN
      oddities := coalesce(oddities, '[]'::jsonb) || CASE
        WHEN o.buyer = p_buyers[i] THEN jsonb_build_object('i', i - 1, 'verdict', 'same', 'order', to_jsonb(o) || jsonb_build_object('id', o.id::text, 'superseded_by', o.superseded_by::text))
        ELSE jsonb_build_object('i', i - 1, 'verdict', 'foreign') END;
      CONTINUE;
    END IF;

    -- Another order of this buyer stands: a live one, or one that used this very attempt.
    SELECT s.id INTO standing FROM orders s
    WHERE s.buyer = p_buyers[i] AND s.item = p_item AND s.reason IS DISTINCT FROM 'refused'
      AND (s.state <> 'closed' OR s.attempt = p_attempts[i])
    ORDER BY s.state <> 'closed' DESC LIMIT 1;

    IF standing IS NULL AND current_epoch AND p_quantities[i] BETWEEN 1 AND v.quantity_max AND p_quantities[i] <= v.available - taken THEN
      INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
      VALUES (p_ids[i], p_item, p_buyers[i], p_attempts[i], p_quantities[i], v.price_minor, v.currency, 'pending', p_epoch,
              to_timestamp(p_reserved_ms[i] / 1000.0), v_now, v_pay_by);
      taken := taken + p_quantities[i];
    ELSE
      -- E7: a refusal is a row too, and never stands in the way of the order that does.
      INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, reason, superseded_by, epoch,
                          reserved_at, placed_at, closed_at)
      VALUES (p_ids[i], p_item, p_buyers[i], p_attempts[i], greatest(p_quantities[i], 1), v.price_minor, v.currency, 'closed', 'refused',
              standing, p_epoch, to_timestamp(p_reserved_ms[i] / 1000.0), v_now, v_now)
      RETURNING * INTO o;
      oddities := coalesce(oddities, '[]'::jsonb) || jsonb_build_object('i', i - 1, 'verdict', 'refused', 'order',
        to_jsonb(o) || jsonb_build_object('id', o.id::text, 'superseded_by', o.superseded_by::text));
    END IF;
  END LOOP;

  IF taken > 0 THEN
    UPDATE items SET available = available - taken WHERE id = p_item;
  END IF;
  RETURN QUERY SELECT 'ok'::text, v.sale, v.price_minor, v.currency, v_now, v_pay_by, v.available - taken, oddities;
END
$$;

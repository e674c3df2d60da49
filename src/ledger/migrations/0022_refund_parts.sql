-- refund_parts: an operator gives money back in parts; what providers took and gave, by days.
-- In      payments of 0003, the archive of 0016, the events of 0019
-- Out     refund_parts, and the function refund_part; note_refund_due and archive_orders know the parts
-- Keeps   the parts of a payment are numbered, and amount to less than what was captured: the last one that would take all is a refund of the
--         whole order, whose row is the payment itself. A part stays in this table when its payment goes to the archive

-- ref: the payment's at its provider. before_minor: what the parts before this one amount to. due: sent until the provider confirms it.
CREATE TABLE refund_parts (
  id             bigint PRIMARY KEY,
  payment        bigint NOT NULL,
  no             int NOT NULL CHECK (no >= 1),
  order_id       bigint NOT NULL,
  item           bigint NOT NULL,
  provider       text NOT NULL,
  ref            text NOT NULL,
  currency       text NOT NULL,
  captured_minor bigint NOT NULL,
  before_minor   bigint NOT NULL CHECK (before_minor >= 0),
  amount_minor   bigint NOT NULL CHECK (amount_minor >= 1),
  reason         text,
  by             text NOT NULL,
  state          text NOT NULL DEFAULT 'due' CHECK (state IN ('due', 'refunded')),
  asked_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  refunded_at    timestamptz,
  tries          int NOT NULL DEFAULT 0,
  next_try_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (payment, no),
  -- Two parts that begin at the same sum can't both be there.
  UNIQUE (payment, before_minor),
  CHECK (before_minor + amount_minor < captured_minor),
  CHECK ((no = 1) = (before_minor = 0)),
  CHECK ((state = 'refunded') = (refunded_at IS NOT NULL))
);
CREATE INDEX refund_parts_order ON refund_parts (order_id);
CREATE INDEX refund_parts_item ON refund_parts (item);
CREATE INDEX refund_parts_to_do ON refund_parts (next_try_at) WHERE state = 'due';
CREATE INDEX refund_parts_refunded ON refund_parts (refunded_at) INCLUDE (provider, currency, amount_minor) WHERE refunded_at IS NOT NULL;

CREATE OR REPLACE FUNCTION refund_part(
  p_part bigint, p_order bigint, p_item bigint, p_amount bigint, p_currency text, p_restock boolean, p_reason text, p_by text
) RETURNS TABLE (outcome text, refundable bigint, currency text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v      items%ROWTYPE;
  o      orders%ROWTYPE;
  p      payments%ROWTYPE;
  last   refund_parts%ROWTYPE;
  v_left bigint;
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  IF v.archive IS NOT NULL THEN PERFORM recall_orders(p_item, ARRAY[p_order], '{}'); END IF;
  SELECT * INTO o FROM orders WHERE id = p_order AND item = p_item FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'unknown'::text, NULL::bigint, NULL::text;
    RETURN;
  END IF;
  SELECT * INTO p FROM payments WHERE order_id = p_order AND state = 'captured' FOR UPDATE;
  SELECT * INTO last FROM refund_parts WHERE payment = p.id ORDER BY no DESC LIMIT 1;
  v_left := p.amount_minor - coalesce(last.before_minor + last.amount_minor, 0);
  IF EXISTS (SELECT 1 FROM refund_parts r WHERE r.id = p_part)
     -- One that was all that was left has no row of its own.
     OR EXISTS (SELECT 1 FROM audit_log a WHERE a.order_id = p_order AND a.action = 'order.refund' AND a.details ->> 'refund' = p_part::text) THEN
    outcome := 'same';
  ELSIF o.state <> 'paid' OR p.id IS NULL THEN
    outcome := 'not_paid';
  ELSIF p_currency <> p.currency THEN
    outcome := 'other_currency';
  ELSIF p_amount > v_left OR p_amount < 1 THEN
    outcome := 'too_much';
  ELSIF p_amount = v_left THEN
    PERFORM refund_order(p_order, p_item, p_restock);
    outcome := 'refunded';
  ELSIF p_restock THEN
    outcome := 'restock';
  ELSIF coalesce(last.no, 0) >= 100 THEN
    outcome := 'too_many';
  ELSE
    INSERT INTO refund_parts (id, payment, no, order_id, item, provider, ref, currency, captured_minor, before_minor, amount_minor, reason, by)
    VALUES (p_part, p.id, coalesce(last.no, 0) + 1, p_order, p_item, p.provider, p.ref, p.currency, p.amount_minor, p.amount_minor - v_left,
            p_amount, p_reason, p_by);
    IF current_setting('stampede.events', true) IS DISTINCT FROM 'off' THEN
      INSERT INTO events (type, items, orders, data)
      VALUES ('payment.refund_due', ARRAY[p_item], ARRAY[p_order], jsonb_build_object('id', p.id::text, 'provider', p.provider, 'ref', p.ref,
              'amount', p_amount, 'currency', p.currency, 'why', 'operator', 'part', p_part::text));
    END IF;
    outcome := 'part';
  END IF;
  IF outcome IN ('part', 'refunded') THEN
    v_left := v_left - p_amount;
    INSERT INTO audit_log (by, action, sale, item, order_id, details)
    VALUES (p_by, CASE outcome WHEN 'part' THEN 'order.refund_part' ELSE 'order.refund' END, v.sale, p_item, p_order,
            jsonb_strip_nulls(jsonb_build_object('refund', p_part::text, 'amount', p_amount, 'currency', p_currency, 'reason', p_reason,
                                                 'restock', CASE outcome WHEN 'refunded' THEN p_restock END)));
  END IF;
  RETURN QUERY SELECT outcome, v_left, p.currency;
END
$$;

CREATE OR REPLACE FUNCTION note_refund_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('stampede.events', true) = 'off' THEN RETURN NULL; END IF;
  INSERT INTO events (type, items, orders, data)
  VALUES ('payment.refund_due', ARRAY[NEW.item], ARRAY[NEW.order_id], jsonb_build_object('id', NEW.id::text, 'provider', NEW.provider,
          'ref', NEW.ref, 'currency', NEW.currency, 'why', NEW.why,
          'amount', NEW.amount_minor - (SELECT coalesce(sum(r.amount_minor), 0) FROM refund_parts r WHERE r.payment = NEW.id)));
  RETURN NULL;
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
      AND NOT EXISTS (SELECT 1 FROM refund_parts r WHERE r.order_id = o.id AND r.state = 'due')
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

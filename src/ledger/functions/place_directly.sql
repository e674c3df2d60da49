-- place_directly: a batch that goes straight into the ledger, behind the door `ledger`, decided in arrival order, in one transaction.
-- In      item, epoch, then five parallel arrays in arrival order: order id, buyer, attempt, quantity, reserved at (unix ms)
-- Out     one row: status (ok | early | over | paused | stale | no_item), what the placed ones share (sale, price, currency, placed_at, pay_by),
--         available afterwards, and `odd`: the asks that were not simply placed, as
--         [{"i", "verdict": same | not_enough | attempts_used | foreign | not_now, "order"}], 64-bit ids as strings
-- Keeps   E5, E10: door, epoch and window are judged under the item lock, by this clock; available is decremented once, by what was inserted;
--         only what is placed writes a row; the same id again has no second effect. What was placed is one row of events
-- Locks   the item row first, then orders

CREATE OR REPLACE FUNCTION place_directly(
  p_item bigint, p_epoch bigint,
  p_ids bigint[], p_buyers text[], p_attempts int[], p_quantities int[], p_reserved_ms bigint[]
) RETURNS TABLE (
  status text, sale bigint, price_minor bigint, currency text, placed_at timestamptz, pay_by timestamptz, available int, odd jsonb
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v             items%ROWTYPE;
  v_sale        sales%ROWTYPE;
  n             int := cardinality(p_ids);
  v_now         timestamptz;
  v_pay_by      timestamptz;
  v_status      text;
  wanted        bigint;
  least_q       int;
  most_q        int;
  least_attempt int;
  most_attempt  int;
  taken         int := 0;
  placed        bigint[] := '{}';
  oddities      jsonb := NULL;
  v_verdict     text;
  known         boolean[];
  o             orders%ROWTYPE;
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'no_item'::text, NULL::bigint, NULL::bigint, NULL::text, NULL::timestamptz, NULL::timestamptz, NULL::int, NULL::jsonb;
    RETURN;
  END IF;
  IF v.door <> 'ledger' OR v.epoch <> p_epoch THEN
    RETURN QUERY SELECT 'stale'::text, v.sale, v.price_minor, v.currency, NULL::timestamptz, NULL::timestamptz, v.available, NULL::jsonb;
    RETURN;
  END IF;

  -- Read after the lock was granted, however long that took: an operator's word or the end of the window may have come meanwhile.
  v_now := clock_timestamp();
  v_pay_by := v_now + v.pay_within_ms * interval '1 millisecond';
  SELECT * INTO v_sale FROM sales WHERE id = v.sale;
  v_status := CASE
    WHEN v_sale.state NOT IN ('ready', 'paused') OR v_now >= v_sale.closes_at THEN 'over'
    WHEN v_now < v_sale.opens_at THEN 'early'
    WHEN v_sale.state = 'paused' THEN 'paused'
    ELSE 'ok' END;

  -- The usual case: all fit and nobody collides with a row that stands, so their order does not matter. A collision undoes the insert, and
  -- everybody is looked at one by one below, under the same lock.
  SELECT sum(a.q), min(a.q), max(a.q), min(a.attempt), max(a.attempt) INTO wanted, least_q, most_q, least_attempt, most_attempt
  FROM unnest(p_quantities, p_attempts) AS a (q, attempt);
  IF v_status = 'ok' AND wanted <= v.available AND least_q >= 1 AND most_q <= v.quantity_max
     AND least_attempt >= 1 AND most_attempt <= v.attempts_max THEN
    BEGIN
      INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
      SELECT a.id, p_item, a.buyer, a.attempt, a.quantity, v.price_minor, v.currency, 'pending', p_epoch,
             to_timestamp(a.reserved_ms / 1000.0), v_now, v_pay_by
      FROM unnest(p_ids, p_buyers, p_attempts, p_quantities, p_reserved_ms) AS a (id, buyer, attempt, quantity, reserved_ms);
      UPDATE items SET available = available - wanted WHERE id = p_item;
      PERFORM note_events('order.placed', ARRAY[p_item], p_ids, v_now);
      IF v.available = wanted THEN PERFORM note_stock(p_item, v.sale, wanted, 0, v_now); END IF;
      RETURN QUERY SELECT v_status, v.sale, v.price_minor, v.currency, v_now, v_pay_by, (v.available - wanted)::int, NULL::jsonb;
      RETURN;
    EXCEPTION WHEN unique_violation THEN
      NULL;
    END;
  END IF;

  -- One question for the whole batch: whose id or buyer has any row, or comes twice here? Only those are looked up one by one.
  SELECT array_agg(a.twice OR by_id.id IS NOT NULL OR by_buyer.id IS NOT NULL ORDER BY a.i) INTO known
  FROM (SELECT u.*, count(*) OVER (PARTITION BY u.id) > 1 OR count(*) OVER (PARTITION BY u.buyer) > 1 AS twice
        FROM unnest(p_ids, p_buyers) WITH ORDINALITY AS u (id, buyer, i)) a
  LEFT JOIN LATERAL (SELECT id FROM orders WHERE id = a.id AND item = p_item LIMIT 1) by_id ON true
  LEFT JOIN LATERAL (
    SELECT id FROM orders WHERE buyer = a.buyer AND item = p_item AND reason IS DISTINCT FROM 'refused' LIMIT 1) by_buyer ON true;

  FOR i IN 1..n LOOP
    v_verdict := NULL;
    IF known[i] THEN
      SELECT * INTO o FROM orders WHERE id = p_ids[i] AND item = p_item;
      IF FOUND THEN
        v_verdict := CASE WHEN o.buyer = p_buyers[i] THEN 'same' ELSE 'foreign' END;
      ELSE
        -- This very attempt, or else another order of this buyer that is alive. Written so that the index orders_attempt serves it.
        SELECT * INTO o FROM orders
        WHERE buyer = p_buyers[i] AND item = p_item AND reason IS DISTINCT FROM 'refused'
          AND (attempt = p_attempts[i] OR state <> 'closed')
        ORDER BY attempt = p_attempts[i] DESC LIMIT 1;
        IF FOUND THEN v_verdict := 'same'; END IF;
      END IF;
    END IF;
    v_verdict := CASE
      WHEN v_verdict IS NOT NULL THEN v_verdict
      WHEN v_status <> 'ok' THEN 'not_now'
      WHEN p_attempts[i] NOT BETWEEN 1 AND v.attempts_max THEN 'attempts_used'
      WHEN p_quantities[i] NOT BETWEEN 1 AND v.quantity_max OR p_quantities[i] > v.available - taken THEN 'not_enough' END;

    IF v_verdict IS NULL THEN
      INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
      VALUES (p_ids[i], p_item, p_buyers[i], p_attempts[i], p_quantities[i], v.price_minor, v.currency, 'pending', p_epoch,
              to_timestamp(p_reserved_ms[i] / 1000.0), v_now, v_pay_by);
      taken := taken + p_quantities[i];
      placed := placed || p_ids[i];
    ELSE
      oddities := coalesce(oddities, '[]'::jsonb) || CASE v_verdict
        WHEN 'same' THEN jsonb_build_object('i', i - 1, 'verdict', v_verdict, 'order',
          to_jsonb(o) || jsonb_build_object('id', o.id::text, 'superseded_by', o.superseded_by::text))
        ELSE jsonb_build_object('i', i - 1, 'verdict', v_verdict) END;
    END IF;
  END LOOP;

  IF taken > 0 THEN
    UPDATE items SET available = available - taken WHERE id = p_item;
    PERFORM note_events('order.placed', ARRAY[p_item], placed, v_now);
    PERFORM note_stock(p_item, v.sale, v.available, v.available - taken, v_now);
  END IF;
  RETURN QUERY SELECT v_status, v.sale, v.price_minor, v.currency, v_now, v_pay_by, v.available - taken, oddities;
END
$$;

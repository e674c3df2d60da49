-- place: a batch of reservations of one item, decided in arrival order, in one transaction.
-- In      item, epoch, acknowledged (the buyers were told "reserved"), then five parallel arrays in arrival order: order id, buyer, attempt,
--         quantity, reserved at (unix ms)
-- Out     one row: status (ok | stale | no_item), what the placed ones share (sale, price, currency, placed_at, pay_by), available afterwards,
--         and `odd`: the asks that were not simply placed, as [{"i", "verdict": same | refused | foreign, "order"}], 64-bit ids as strings
-- Keeps   E5: only entries of gate_epoch are placed; available is decremented once, by what was inserted; the same id again has no second
--         effect; E7: a refusal is a row that names the order in its way, and never blocks it; foreign (the id is another buyer's) writes nothing.
--         What was placed and what was refused is one row of events each
-- Locks   the item row first, then orders

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
  placed    bigint[] := '{}';
  refused   bigint[] := '{}';
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
      PERFORM note_events('order.placed', ARRAY[p_item], p_ids, v_now);
      IF v.available = 0 THEN PERFORM note_stock(p_item, v.sale, wanted, 0, v_now); END IF;
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
      placed := placed || p_ids[i];
    ELSE
      -- E7: a refusal is a row too, and never stands in the way of the order that does.
      INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, reason, superseded_by, epoch,
                          reserved_at, placed_at, closed_at)
      VALUES (p_ids[i], p_item, p_buyers[i], p_attempts[i], greatest(p_quantities[i], 1), v.price_minor, v.currency, 'closed', 'refused',
              standing, p_epoch, to_timestamp(p_reserved_ms[i] / 1000.0), v_now, v_now)
      RETURNING * INTO o;
      oddities := coalesce(oddities, '[]'::jsonb) || jsonb_build_object('i', i - 1, 'verdict', 'refused', 'order',
        to_jsonb(o) || jsonb_build_object('id', o.id::text, 'superseded_by', o.superseded_by::text));
      refused := refused || p_ids[i];
    END IF;
  END LOOP;

  IF taken > 0 THEN
    UPDATE items SET available = available - taken WHERE id = p_item;
    PERFORM note_events('order.placed', ARRAY[p_item], placed, v_now);
    PERFORM note_stock(p_item, v.sale, v.available, v.available - taken, v_now);
  END IF;
  IF cardinality(refused) > 0 THEN PERFORM note_events('order.closed', ARRAY[p_item], refused, v_now); END IF;
  RETURN QUERY SELECT 'ok'::text, v.sale, v.price_minor, v.currency, v_now, v_pay_by, v.available - taken, oddities;
END
$$;

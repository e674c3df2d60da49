-- place_together: batches of several items, placed by one call in one transaction.
-- In      per batch: items, epochs, acknowledged; per ask: the batch it belongs to (from 1), then the arrays of `place`
-- Out     one row per batch: nth (from 1, as the items were given), then what `place` answers; status locked: another transaction has the item,
--         and nothing was done for it
-- Keeps   what `place` keeps, for each item; it never waits for an item's lock, so one item does not hold up the others, and no two calls can
--         wait for each other. No item twice in one call. What was placed without a collision is one row of events
-- Locks   the item rows that are free, then orders

CREATE OR REPLACE FUNCTION place_together(
  p_items bigint[], p_epochs bigint[], p_acknowledged boolean[],
  p_nth int[], p_ids bigint[], p_buyers text[], p_attempts int[], p_quantities int[], p_reserved_ms bigint[]
) RETURNS TABLE (
  nth int, status text, sale bigint, price_minor bigint, currency text, placed_at timestamptz, pay_by timestamptz, available int, odd jsonb
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  ours  bigint[];
  done  placed_batch[];
  rest  int[];
  v_now timestamptz;
  placed  bigint[];
  of_item bigint[];
BEGIN
  SELECT array_agg(id) INTO ours
  FROM (SELECT id FROM items WHERE id = ANY (p_items) FOR NO KEY UPDATE SKIP LOCKED) AS free;
  v_now := clock_timestamp();

  -- The usual case, for all at once, as in place: what fits is taken and inserted; a collision undoes all of it.
  BEGIN
    WITH batch AS (
      SELECT b.nth, b.item, b.epoch, a.wanted, a.least, a.most
      FROM unnest(p_items, p_epochs) WITH ORDINALITY AS b (item, epoch, nth)
      JOIN (SELECT n, sum(q) AS wanted, min(q) AS least, max(q) AS most FROM unnest(p_nth, p_quantities) AS x (n, q) GROUP BY n) AS a ON a.n = b.nth
    ), taken AS (
      UPDATE items i SET available = i.available - b.wanted
      FROM batch b
      WHERE i.id = b.item AND i.id = ANY (ours) AND i.gate_epoch = b.epoch AND i.available >= b.wanted AND b.least >= 1 AND i.quantity_max >= b.most
      RETURNING b.nth, i.id, i.sale, i.price_minor, i.currency, i.gate_epoch, v_now + i.pay_within_ms * interval '1 millisecond' AS pay_by, i.available
    ), inserted AS (
      INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
      SELECT a.id, t.id, a.buyer, a.attempt, a.quantity, t.price_minor, t.currency, 'pending', t.gate_epoch,
             to_timestamp(a.reserved_ms / 1000.0), v_now, t.pay_by
      FROM unnest(p_nth, p_ids, p_buyers, p_attempts, p_quantities, p_reserved_ms) AS a (nth, id, buyer, attempt, quantity, reserved_ms)
      JOIN taken t ON t.nth = a.nth
    )
    SELECT array_agg((t.nth, t.sale, t.price_minor, t.currency, t.pay_by, t.available)::placed_batch), array_agg(t.nth)
    INTO done, rest FROM taken t;
  EXCEPTION WHEN unique_violation THEN
    done := NULL;
    rest := NULL;
  END;
  IF done IS NOT NULL THEN
    SELECT array_agg(p_items[a.nth] ORDER BY a.i), array_agg(a.id ORDER BY a.i) INTO of_item, placed
    FROM unnest(p_nth, p_ids) WITH ORDINALITY AS a (nth, id, i) WHERE cardinality(rest) = cardinality(p_items) OR a.nth = ANY (rest);
    PERFORM note_events('order.placed', of_item, placed, v_now);
    PERFORM note_stock(p_items[d.nth], d.sale, 1, 0, v_now) FROM unnest(done) AS d WHERE d.available = 0;
  END IF;
  RETURN QUERY SELECT d.nth, 'ok'::text, d.sale, d.price_minor, d.currency, v_now, d.pay_by, d.available, NULL::jsonb FROM unnest(done) AS d;

  -- Whoever is left is looked at alone.
  FOR k IN 1..cardinality(p_items) LOOP
    CONTINUE WHEN k = ANY (rest);
    IF p_items[k] = ANY (ours) THEN
      RETURN QUERY
        SELECT k, p.status, p.sale, p.price_minor, p.currency, p.placed_at, p.pay_by, p.available, p.odd
        FROM (SELECT array_agg(id ORDER BY i) AS ids, array_agg(buyer ORDER BY i) AS buyers, array_agg(attempt ORDER BY i) AS attempts,
                     array_agg(quantity ORDER BY i) AS quantities, array_agg(ms ORDER BY i) AS reserved
              FROM unnest(p_nth, p_ids, p_buyers, p_attempts, p_quantities, p_reserved_ms) WITH ORDINALITY
                AS a (nth, id, buyer, attempt, quantity, ms, i)
              WHERE a.nth = k) AS mine,
             place(p_items[k], p_epochs[k], p_acknowledged[k], mine.ids, mine.buyers, mine.attempts, mine.quantities, mine.reserved) AS p;
    ELSE
      RETURN QUERY SELECT k, 'locked'::text, NULL::bigint, NULL::bigint, NULL::text, NULL::timestamptz, NULL::timestamptz, NULL::int, NULL::jsonb;
    END IF;
  END LOOP;
END $$;

-- ask_change: an operator changes the units of an item by `delta`; numbered per item, one change open at a time.
-- In      item, delta, reason, operator, idempotency key (or null)
-- Out     one row: outcome, no, taken, epoch, delta. Outcomes:
--           asked     a decrease behind the gate: the gate gives its units up first, then settle_change
--           applied   an increase, in the ledger; the gate gets the units next, then settle_change
--           done      no gate holds the item: nothing more to do          same      this key was used before, for this change
--           pending   another change of this item is open                 moving    the door is draining: try again later
--           no_item   there is no such item                               too_many  more than ten million units
-- Keeps   units, available and change_no move together; change_no counts the changes that are in available, so that a rebuilt gate continues
--         after exactly those; a decrease never takes what is not available
-- Locks   the item row

CREATE OR REPLACE FUNCTION ask_change(p_item bigint, p_delta int, p_reason text, p_by text, p_key text)
RETURNS TABLE (outcome text, no int, taken int, epoch bigint, delta int) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v       items%ROWTYPE;
  c       stock_changes%ROWTYPE;
  v_taken int;
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'no_item'::text, NULL::int, NULL::int, NULL::bigint, NULL::int;
    RETURN;
  END IF;
  IF p_key IS NOT NULL THEN
    SELECT * INTO c FROM stock_changes WHERE key = p_key;
    IF FOUND THEN
      RETURN QUERY SELECT 'same'::text, c.no, c.taken, v.epoch, c.delta;
      RETURN;
    END IF;
  END IF;
  SELECT * INTO c FROM stock_changes WHERE item = p_item AND state <> 'done';
  IF FOUND THEN
    RETURN QUERY SELECT 'pending'::text, c.no, c.taken, v.epoch, c.delta;
    RETURN;
  END IF;
  IF v.door = 'draining' THEN
    RETURN QUERY SELECT 'moving'::text, NULL::int, NULL::int, v.epoch, p_delta;
    RETURN;
  END IF;
  IF v.units::bigint + p_delta > 10000000 THEN
    RETURN QUERY SELECT 'too_many'::text, NULL::int, NULL::int, v.epoch, p_delta;
    RETURN;
  END IF;

  IF v.door = 'gate' AND p_delta < 0 THEN
    INSERT INTO stock_changes (item, no, delta, state, reason, by, key) VALUES (p_item, v.change_no + 1, p_delta, 'asked', p_reason, p_by, p_key);
    RETURN QUERY SELECT 'asked'::text, v.change_no + 1, NULL::int, v.epoch, p_delta;
    RETURN;
  END IF;

  v_taken := greatest(p_delta, -v.available);
  INSERT INTO stock_changes (item, no, delta, taken, state, reason, by, key)
  VALUES (p_item, v.change_no + 1, p_delta, v_taken, CASE v.door WHEN 'gate' THEN 'applied' ELSE 'done' END, p_reason, p_by, p_key);
  UPDATE items SET units = units + v_taken, available = available + v_taken, change_no = change_no + 1 WHERE id = p_item;
  PERFORM note_stock(p_item, v.sale, v.available, v.available + v_taken, clock_timestamp());
  RETURN QUERY SELECT CASE v.door WHEN 'gate' THEN 'applied' ELSE 'done' END, v.change_no + 1, v_taken, v.epoch, p_delta;
END
$$;

-- change_stock: an operator's stock change, numbered per item, in two acts: ask_change and settle_change.
-- In      ask_change: item, delta, reason, by, key (or null). settle_change: item, number, the epoch of the
--         gate that gave pieces up, and how many (negative)
-- Out     ask_change: one row: outcome (asked | applied | done | pending | moving | same | no_item | too_many), no, taken, epoch
--           asked    a decrease: the gate must give the pieces up first, then settle_change takes exactly those
--           applied  an increase: the ledger has it, the gate must be told, then settle_change marks it done
--           done     nobody else sells the item: it is all done      same     this key was used before: its change as it stands
--           pending  another change of this item is under way        moving   the item is being rebuilt: ask again in a moment
--         settle_change: true if the change is finished; false if the gate was rebuilt meanwhile and must be asked again
-- Keeps   units, available and change_no move together; change_no counts the changes that are in available, so that a rebuilt gate
--         continues after exactly those; a decrease never takes what is not available
-- Locks   the item row first

CREATE FUNCTION ask_change(p_item bigint, p_delta int, p_reason text, p_by text, p_key text)
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
  RETURN QUERY SELECT CASE v.door WHEN 'gate' THEN 'applied' ELSE 'done' END, v.change_no + 1, v_taken, v.epoch, p_delta;
END
$$;

CREATE FUNCTION settle_change(p_item bigint, p_no int, p_epoch bigint, p_taken int) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v items%ROWTYPE;
  c stock_changes%ROWTYPE;
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  SELECT * INTO c FROM stock_changes WHERE item = p_item AND no = p_no;
  IF NOT FOUND OR c.state = 'done' THEN RETURN true; END IF;
  IF c.state = 'asked' THEN
    IF v.door IN ('shut', 'ledger') THEN
      -- No gate has the pieces any more: they are all here.
      p_taken := greatest(c.delta, -v.available);
    ELSIF v.gate_epoch <> p_epoch THEN
      -- A gate built since then has these pieces: what the old one gave up is void.
      RETURN false;
    END IF;
    UPDATE items SET units = units + p_taken, available = available + p_taken, change_no = p_no WHERE id = p_item;
    UPDATE stock_changes SET state = 'done', taken = p_taken WHERE item = p_item AND no = p_no;
  ELSE
    UPDATE stock_changes SET state = 'done' WHERE item = p_item AND no = p_no;
  END IF;
  RETURN true;
END
$$;

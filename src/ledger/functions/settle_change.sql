-- settle_change: the gate has done a stock change; a decrease takes the units it gave up out of the ledger.
-- In      item, number of the change, epoch of the gate that did it, units it took (0 or negative; ignored for an increase)
-- Out     true: settled, now or before. False: the gate was rebuilt meanwhile and must be asked again
-- Keeps   each change is counted once; units, available and change_no move together
-- Locks   the item row

CREATE OR REPLACE FUNCTION settle_change(p_item bigint, p_no int, p_epoch bigint, p_taken int) RETURNS boolean LANGUAGE plpgsql AS $$
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
    PERFORM note_stock(p_item, v.sale, v.available, v.available + p_taken, clock_timestamp());
    UPDATE stock_changes SET state = 'done', taken = p_taken WHERE item = p_item AND no = p_no;
  ELSE
    UPDATE stock_changes SET state = 'done' WHERE item = p_item AND no = p_no;
  END IF;
  RETURN true;
END
$$;

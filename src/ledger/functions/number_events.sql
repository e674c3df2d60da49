-- number_events: gives the next committed events their numbers, in the order in which they were written.
-- In      how many rows at most
-- Out     one row: newest (the highest number given, now or before), rows (how many got numbers now)
-- Keeps   numbers are consecutive, and given to what is committed only: a reader that has seen a number has seen all lower ones, whatever commits
--         late gets a higher one. Of one order, and of one item, the order of the changes. Two callers at once give no number twice
-- Locks   event_head, if there is something to number; then the events

CREATE OR REPLACE FUNCTION number_events(p_max int) RETURNS TABLE (newest bigint, rows int) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_last bigint;
  v_rows int := 0;
  e      record;
BEGIN
  -- A look that writes nothing: most of the time there is nothing to number.
  PERFORM 1 FROM events WHERE first IS NULL ORDER BY id LIMIT 1;
  IF NOT FOUND THEN
    RETURN QUERY SELECT h.last, 0 FROM event_head h;
    RETURN;
  END IF;
  SELECT h.last INTO v_last FROM event_head h FOR UPDATE;
  -- Read after the lock was granted: what another caller has numbered meanwhile is not found.
  FOR e IN SELECT id, count FROM events WHERE first IS NULL ORDER BY id LIMIT p_max LOOP
    UPDATE events SET first = v_last + 1 WHERE id = e.id AND first IS NULL;
    v_last := v_last + e.count;
    v_rows := v_rows + 1;
  END LOOP;
  UPDATE event_head SET last = v_last;
  RETURN QUERY SELECT v_last, v_rows;
END
$$;

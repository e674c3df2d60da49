-- sweep_events: deletes the oldest events that have been kept long enough.
-- In      how long events are kept (ms), how many rows at most
-- Out     how many rows it deleted
-- Keeps   numbers go from the lowest up, and event_head.swept names the last one that is gone: a cursor behind it is known to have expired
-- Locks   event_head, if there is something to delete

CREATE OR REPLACE FUNCTION sweep_events(p_kept_ms bigint, p_max int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  v_before timestamptz := clock_timestamp() - p_kept_ms * interval '1 millisecond';
  v_until  bigint;
  v_rows   int;
BEGIN
  PERFORM 1 FROM (SELECT at FROM events WHERE first IS NOT NULL ORDER BY first LIMIT 1) oldest WHERE at < v_before;
  IF NOT FOUND THEN RETURN 0; END IF;
  PERFORM 1 FROM event_head FOR UPDATE;
  SELECT coalesce(min(first) FILTER (WHERE at >= v_before) - 1, max(first + count - 1)) INTO v_until
  FROM (SELECT first, count, at FROM events WHERE first IS NOT NULL ORDER BY first LIMIT p_max) page;
  DELETE FROM events WHERE first <= v_until;
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  UPDATE event_head SET swept = v_until WHERE swept < v_until;
  RETURN v_rows;
END
$$;

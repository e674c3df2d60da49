-- note_troubles: what one process sees to be wrong now, and the messages about troubles that have begun or ended.
-- In      the troubles (JSON array of {key, told, trouble}); how long a trouble must not be seen to be over, and how long after its last message
--         it may be told again (ms); may this process decide that a trouble is over?
-- Out     nothing
-- Keeps   a begin is written once however many processes see it, and an end once after it; of a trouble that comes and goes at most one begin
--         within the repeat time; messages are numbered in the order of their commits
-- Locks   the table alerts, so that processes write one after the other

CREATE OR REPLACE FUNCTION note_troubles(p_seen jsonb, p_quiet_ms bigint, p_repeat_ms bigint, p_may_end boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  quiet interval := p_quiet_ms * interval '1 ms';
  pause interval := p_repeat_ms * interval '1 ms';
  at timestamptz;
BEGIN
  IF jsonb_array_length(p_seen) = 0 AND NOT EXISTS (SELECT FROM alerts) THEN RETURN; END IF;
  LOCK TABLE alerts IN SHARE ROW EXCLUSIVE MODE;
  at := clock_timestamp();
  INSERT INTO alerts AS a (key, trouble, began_at, seen_at, is_told, told_at)
  SELECT DISTINCT ON (s->>'key') s->>'key', s->'trouble', at, at, (s->>'told')::boolean, CASE WHEN (s->>'told')::boolean THEN at END
  FROM jsonb_array_elements(p_seen) s
  ORDER BY s->>'key'
  ON CONFLICT (key) DO UPDATE SET
    trouble = excluded.trouble,
    seen_at = at,
    began_at = CASE WHEN a.is_on THEN a.began_at ELSE at END,
    times = CASE WHEN a.is_on THEN a.times ELSE a.times + 1 END,
    is_on = true,
    is_told = a.is_told OR excluded.is_told,
    told_at = CASE WHEN excluded.is_told AND NOT a.is_told THEN at ELSE a.told_at END;
  IF p_may_end THEN
    UPDATE alerts SET is_on = false WHERE is_on AND seen_at < at - quiet;
  END IF;
  WITH begun AS (
    UPDATE alerts a SET is_told = true, told_at = at, times = 0
    FROM (SELECT key, times FROM alerts WHERE is_on AND NOT is_told AND (told_at IS NULL OR told_at < at - pause)) b
    WHERE a.key = b.key
    RETURNING a.trouble, a.began_at, b.times
  ) INSERT INTO alert_messages (kind, trouble, began_at, at, times) SELECT 'began', trouble, began_at, at, times FROM begun ORDER BY began_at;
  WITH ended AS (
    UPDATE alerts SET is_told = false WHERE NOT is_on AND is_told RETURNING trouble, began_at, seen_at
  ) INSERT INTO alert_messages (kind, trouble, began_at, at, times) SELECT 'ended', trouble, began_at, seen_at, 1 FROM ended ORDER BY seen_at;
  DELETE FROM alerts WHERE NOT is_on AND (told_at IS NULL OR told_at < at - pause);
  DELETE FROM alert_messages WHERE alert_messages.at < clock_timestamp() - interval '7 days' OR no <= (SELECT max(no) - 5000 FROM alert_messages);
END
$$;

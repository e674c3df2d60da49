-- event_at: where in the numbers of events a time lies.
-- In      time
-- Out     one row: number (events up to this one are older), swept (numbers up to this one are deleted), newest, oldest_at (null: none is kept),
--         now
-- Keeps   a binary search over the numbers, by their index: some thirty rows are read. Events that were committed at the same moment may be
--         numbered in another order than that of their times: the caller asks for a little earlier
WITH RECURSIVE cut AS (
  SELECT swept AS low, last + 1 AS high FROM event_head
  UNION ALL
  SELECT CASE WHEN e.at < $1::timestamptz THEN c.mid ELSE c.low END, CASE WHEN e.at < $1::timestamptz THEN c.high ELSE c.mid END
  FROM (SELECT low, high, (low + high) / 2 AS mid FROM cut WHERE high - low > 1) c
  CROSS JOIN LATERAL (SELECT at FROM events WHERE first <= c.mid ORDER BY first DESC LIMIT 1) e
)
SELECT (SELECT max(low) FROM cut) AS number, h.swept, h.last AS newest,
       (SELECT at FROM events WHERE first > 0 ORDER BY first LIMIT 1) AS oldest_at, clock_timestamp() AS now
FROM event_head h

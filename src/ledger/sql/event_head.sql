-- event_head: how far the events have got.
-- Out     one row: newest (the highest number given), swept (numbers up to this one are deleted), waiting_ms (the age of the oldest event without a
--         number; 0: all have one)
SELECT h.last AS newest, h.swept,
       coalesce((SELECT greatest(0, extract(epoch FROM clock_timestamp() - e.at) * 1000)::bigint FROM events e WHERE e.first IS NULL ORDER BY e.id LIMIT 1), 0)
         AS waiting_ms
FROM event_head h

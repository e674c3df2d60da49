-- event_head: how far the events have got.
-- Out     one row: newest (the highest number given), swept (numbers up to this one are deleted)
SELECT last AS newest, swept FROM event_head

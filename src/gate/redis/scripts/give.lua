-- give: end a worker's lease of an item's outbox.
-- KEYS     worker (the lease)
-- ARGV     worker
-- Returns  DONE
-- Keeps    another worker's lease stays

if #KEYS ~= 1 or #ARGV ~= 1 then return bug('give: wrong arguments') end
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return DONE

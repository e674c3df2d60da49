-- forget: something was changed: every copy and every lease is void, and all processes hear of it in the same act.
-- KEYS     changes
-- ARGV     channel
-- Returns  the number of changes
-- Keeps    the number only goes up

if #KEYS ~= 1 or #ARGV ~= 1 or ARGV[1] == '' then return bug('forget: wrong arguments') end
local changes = redis.call('INCR', KEYS[1])
redis.call('PUBLISH', ARGV[1], tostring(changes))
return changes

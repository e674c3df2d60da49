-- forget: something was changed: every copy and every lease is void, and all processes hear of it in the same act.
-- KEYS     changes
-- ARGV     channel
-- Returns  the number of changes
-- Keeps    the number only goes up; what is no number any more begins anew with the time, which no copy was made under

if #KEYS ~= 1 or #ARGV ~= 1 or ARGV[1] == '' then return bug('forget: wrong arguments') end
throwOutUnless('string', KEYS[1])
local before = redis.call('GET', KEYS[1]) or '0'
if #before > 15 or not before:find('^%d+$') then redis.call('SET', KEYS[1], string.format('%.0f', nowMs())) end
local changes = redis.call('INCR', KEYS[1])
redis.call('PUBLISH', ARGV[1], string.format('%.0f', changes))
return changes

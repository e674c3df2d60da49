-- forget-all: a sale was changed: voids every copy and lease and notifies all processes in one step.
-- KEYS     changes
-- ARGV     channel
-- Returns  the change number
-- Keeps    the number only goes up; a value that is no number restarts at the current time, under which no copy was made

if #KEYS ~= 1 or #ARGV ~= 1 or ARGV[1] == '' then return bug('forget-all: wrong arguments') end
removeUnless('string', KEYS[1])
local before = redis.call('GET', KEYS[1]) or '0'
if #before > 15 or not before:find('^%d+$') then redis.call('SET', KEYS[1], text(serverMs())) end
local changes = redis.call('INCR', KEYS[1])
redis.call('PUBLISH', ARGV[1], text(changes))
return changes

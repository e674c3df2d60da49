-- give-back: the holder of a lease has nothing to keep; whoever waits may read.
-- KEYS     copy
-- ARGV     lease
-- Returns  1, or 0 when the lease is not this one any more
-- Keeps    nobody else's lease is touched

if #KEYS ~= 1 or #ARGV ~= 1 or ARGV[1] == '' then return bug('give-back: wrong arguments') end
throwOutUnless('hash', KEYS[1])
if redis.call('HGET', KEYS[1], 'lease') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[1], 'lease', 'since', 'under')
return 1

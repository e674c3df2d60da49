-- return-lease: the holder of a lease has nothing to store; another process may read.
-- KEYS     copy
-- ARGV     lease
-- Returns  1, or 0 when the lease is no longer valid
-- Keeps    another holder's lease stays

if #KEYS ~= 1 or #ARGV ~= 1 or ARGV[1] == '' then return bug('return-lease: wrong arguments') end
removeUnless('hash', KEYS[1])
if redis.call('HGET', KEYS[1], 'lease') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[1], 'lease', 'since', 'under')
return 1

-- claim: lets one process in so long do what all would do at the same time.
-- KEYS     claim
-- ARGV     forMs
-- Returns  1: the caller may; 0: another process has it
-- Keeps    the key ends by itself

if #KEYS ~= 1 or #ARGV ~= 1 or not isCount(ARGV[1]) then return bug('claim: wrong arguments') end
if redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[1]) then return 1 end
return 0

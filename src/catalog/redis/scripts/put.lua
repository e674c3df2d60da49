-- put: ends a lease: stores what its holder has read; without a text another process may read.
-- KEYS     copy, changes
-- ARGV     lease, text (may be empty), freshMs (from the lease on), keepMs (from now on)
-- Returns  1, or 0 when the lease is no longer valid and nothing was done
-- Keeps    a copy read before a change is not stored after it; another holder's lease stays

if #KEYS ~= 2 or #ARGV ~= 4 or ARGV[1] == '' or not (isCount(ARGV[3]) and isCount(ARGV[4])) then
  return bug('put: wrong arguments')
end
removeUnless('hash', KEYS[1])
removeUnless('string', KEYS[2])
local held = redis.call('HMGET', KEYS[1], 'lease', 'since', 'under')
local changes = redis.call('GET', KEYS[2]) or '0'
if held[1] ~= ARGV[1] or held[3] ~= changes then return 0 end
redis.call('HDEL', KEYS[1], 'lease', 'since', 'under')
if ARGV[2] == '' then return 1 end
redis.call('HSET', KEYS[1], 'at', held[2], 'fresh', ARGV[3], 'of', changes, 'text', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1

-- ask: the copy under a key, or the lease to read it.
-- KEYS     copy, changes
-- ARGV     lease, leaseMs
-- Returns  KNOWN, age in ms, text; or LEASED or WAIT, 0, the expired text ('' if none)
-- Keeps    one lease at a time per change number; a copy of another change number, or past its time, is not known; a key with only a lease expires with it

if #KEYS ~= 2 or #ARGV ~= 2 or ARGV[1] == '' or not isCount(ARGV[2]) then return bug('ask: wrong arguments') end
removeUnless('hash', KEYS[1])
removeUnless('string', KEYS[2])
local now = serverMs()
local changes = redis.call('GET', KEYS[2]) or '0'
local copy = redis.call('HMGET', KEYS[1], 'at', 'fresh', 'of', 'text', 'since', 'under')
local at, fresh, of, known, since, under = copy[1], copy[2], copy[3], copy[4], copy[5], copy[6]
if known and of == changes and within(now, at, fresh) then return { KNOWN, now - tonumber(at), known } end
if under == changes and within(now, since, ARGV[2]) then return { WAIT, 0, known or '' } end
redis.call('HSET', KEYS[1], 'lease', ARGV[1], 'since', text(now), 'under', changes)
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return { LEASED, 0, known or '' }

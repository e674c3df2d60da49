-- take: the oldest entries of an item's outbox, for the one worker that has the lease.
-- KEYS     worker (the lease), outboxes, gate (only its name is used)
-- ARGV     worker, leaseMs, asksMax
-- Returns  OK, 1 if more may wait behind these, epoch, then id and fields of each entry (no epoch: nothing waits); or HELD
-- Keeps    one worker at a time, as long as a lease lasts: one that has longer to go was written by a clock that went back since;
--          it is renewed when half of it is over, not with every take: each write waits for the disk;
--          entries stay until done; asks neither epoch nor server: what was acknowledged here must reach the ledger (E5)

if #KEYS ~= 3 or #ARGV ~= 3 or ARGV[1] == '' or not (isNumber(ARGV[2]) and isNumber(ARGV[3])) then
  return bug('take: wrong arguments')
end
local asksMax = tonumber(ARGV[3])
local leaseMs = tonumber(ARGV[2])
local holder = redis.call('GET', KEYS[1])
local leftMs = holder and redis.call('PTTL', KEYS[1]) or 0
if holder and holder ~= ARGV[1] and leftMs <= leaseMs then return { HELD } end
local renew = holder ~= ARGV[1] or leftMs < leaseMs / 2 or leftMs > leaseMs

local epochs = {}
for _, epoch in ipairs(redis.call('HKEYS', KEYS[2])) do epochs[#epochs + 1] = tonumber(epoch) end
table.sort(epochs)
for nth, epoch in ipairs(epochs) do
  local outboxKey = keyOf(KEYS[3], epoch, 'outbox')
  local reply, asks, from = { OK, nth < #epochs and 1 or 0, epoch }, 0, '-'
  repeat
    local entries = redis.call('XRANGE', outboxKey, from, '+', 'COUNT', 32)
    for _, entry in ipairs(entries) do
      -- 'at' at 'count' n 'pieces' p 'asks' …; a malformed entry counts as one.
      local count = isNumber(entry[2][4]) and tonumber(entry[2][4]) or 1
      if asks > 0 and asks + count > asksMax then
        entries = {}
        reply[2] = 1
        break
      end
      asks = asks + count
      reply[#reply + 1] = entry
      from = '(' .. entry[1]
    end
  until #entries < 32
  if asks > 0 then
    if renew then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
    return reply
  end
end
return { OK, 0 }

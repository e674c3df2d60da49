-- activate: the epoch begins to sell, from the pages loaded under it on this very server.
-- KEYS     gate, buyers, orders (of this epoch), outboxes
-- ARGV     epoch, begun (its keeper has fenced or loaded it here before), left, held, buyers, attemptsMax, changeNo, state, opensAtMs, closesAtMs,
--          stateNo
-- Returns  DONE or STALE
-- Keeps    E1: stores the server it is built on; E9: only the highest epoch seen, only if the pages add up to the terms; never removes an
--          outbox that has entries

local gateKey, buyersKey, ordersKey, outboxesKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local STATES = { open = true, paused = true, over = true }
local counts = isCount(ARGV[3]) and isCount(ARGV[4]) and isCount(ARGV[5]) and isNumber(ARGV[6]) and isCount(ARGV[7])
if #KEYS ~= 4 or #ARGV ~= 11 or not (isNumber(ARGV[1]) and counts and STATES[ARGV[8]] and isWhole(ARGV[9]) and isWhole(ARGV[10]) and isCount(ARGV[11]))
  or tonumber(ARGV[9]) >= tonumber(ARGV[10]) then
  return bug('activate: wrong arguments')
end
local epoch, begun = tonumber(ARGV[1]), ARGV[2] == '1'

local gate = readGate(gateKey)
local server = identity()
if selling(gate, epoch, server) then return DONE end
if epoch < gate.seen or gate.epoch == epoch or not goesOn(gate, epoch, begun, server) then return STALE end

local loaded = gate.loading == epoch
local held = loaded and gate.loadedHeld or 0
local buyers = loaded and redis.call('HLEN', buyersKey) or 0
if held ~= tonumber(ARGV[4]) or buyers ~= tonumber(ARGV[5]) then
  return bug('activate: epoch ' .. ARGV[1] .. ' has ' .. text(held) .. ' held by ' .. text(buyers) .. ' buyers, the terms say '
    .. ARGV[4] .. ' by ' .. ARGV[5])
end

if not loaded then unlinkBook(gateKey, epoch) end
if gate.loading and not loaded then unlinkBook(gateKey, gate.loading) end
if gate.epoch then unlinkBook(gateKey, gate.epoch) end
for _, older in ipairs(redis.call('HKEYS', outboxesKey)) do
  local outboxKey = keyOf(gateKey, tonumber(older), 'outbox')
  if tonumber(older) < epoch and redis.call('XLEN', outboxKey) == 0 then
    redis.call('UNLINK', outboxKey)
    redis.call('HDEL', outboxesKey, older)
    redis.call('HDEL', copiedKey(gateKey), older)
  end
end
redis.call('HSETNX', outboxesKey, text(epoch), '0')
redis.call('HDEL', gateKey, 'loading', 'loadedOn', 'loadedHeld', 'judged', 'waited', 'wants', 'moveNo', 'moved')
redis.call('HSET', gateKey, 'seen', text(epoch), 'fenced', text(epoch), 'fencedOn', server, 'epoch', text(epoch), 'server', server,
  'version', '1', 'left', ARGV[3], 'held', ARGV[4], 'attemptsMax', ARGV[6], 'changeNo', ARGV[7],
  'changesFrom', text(tonumber(ARGV[7]) + 1), 'state', ARGV[8], 'opens', ARGV[9], 'closes', ARGV[10], 'wordNo', ARGV[11])
return DONE

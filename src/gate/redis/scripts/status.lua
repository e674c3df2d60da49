-- status: what the gate knows of some items, and its clock.
-- KEYS     gate of the first item, if there is one: it says which server is asked
-- ARGV     clockOffsetMs, then the gate of each item: their slots may differ, all are on this server
-- Returns  nowMs, the server's own clock (nowMs does not step back for an item, this does), then per item nothing (it is not
--          active here) or epoch, version, left, held, buyers, state, opensAtMs, closesAtMs, changeNo, wordNo;
--          of one of several shards also when it was last short of units (unix ms; 0: not), how many were wanted, moveNo, what that move did
-- Keeps    E1: an item built on another server or another history is left out

if #ARGV < 1 or not isWhole(ARGV[1]) then return bug('status: wrong arguments') end
local server = identity()
local clock = nowMs(tonumber(ARGV[1]))
local now = clock
local reply = { now, clock }
for i = 1, #ARGV - 1 do
  local gateKey = ARGV[i + 1]
  local gate = readGate(gateKey)
  if selling(gate, nil, server) then
    local buyers = redis.call('HLEN', keyOf(gateKey, gate.epoch, 'buyers'))
    now = math.max(now, outwaitStepBack(gate.clock, clock))
    local shown = {
      gate.epoch, gate.version, gate.left, gate.held, buyers, gate.state, gate.opens, gate.closes, gate.changeNo,
      gate.wordNo or 0,
    }
    if isShard(gateKey) then
      for j, value in ipairs(redis.call('HMGET', gateKey, 'waited', 'wants', 'moveNo', 'moved')) do
        shown[10 + j] = tonumber(value or 0)
      end
    end
    reply[i + 2] = shown
  else
    reply[i + 2] = false
  end
end
reply[1] = now
return reply

-- confirm_node: "I have seen these epochs of these items, and hold nothing older of them".
-- In      id, holder, array of items, parallel array of epochs
-- Out     one row if it was written or stood already; none if the lease was lost or has lapsed
-- Keeps   E4: only the holder of a lease that stands speaks for it; a confirmation never goes back
WITH me AS (SELECT id, holder FROM nodes WHERE id = $1 AND holder = $2 AND lease_until > clock_timestamp()),
written AS (
  INSERT INTO node_items (node, holder, item, epoch)
  SELECT me.id, me.holder, seen.item, max(seen.epoch)
  FROM me, unnest($3::bigint[], $4::bigint[]) AS seen (item, epoch)
  GROUP BY me.id, me.holder, seen.item
  ORDER BY seen.item
  ON CONFLICT (node, holder, item) DO UPDATE SET epoch = excluded.epoch WHERE node_items.epoch < excluded.epoch)
SELECT id FROM me

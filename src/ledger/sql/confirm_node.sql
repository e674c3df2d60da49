-- confirm_node: a process has seen these epochs of these items, and holds nothing older of them.
-- In      id, holder, array of items, parallel array of epochs
-- Out     one row if it is confirmed, by this call or before; none if the lease was lost or has lapsed
-- Keeps   E4: only the holder of a valid lease confirms for it; a confirmation never goes back
WITH me AS (SELECT id, holder FROM nodes WHERE id = $1 AND holder = $2 AND lease_until > clock_timestamp()),
written AS (
  INSERT INTO node_items (node, holder, item, epoch)
  SELECT me.id, me.holder, seen.item, max(seen.epoch)
  FROM me, unnest($3::bigint[], $4::bigint[]) AS seen (item, epoch)
  GROUP BY me.id, me.holder, seen.item
  ORDER BY seen.item
  ON CONFLICT (node, holder, item) DO UPDATE SET epoch = excluded.epoch WHERE node_items.epoch < excluded.epoch)
SELECT id FROM me

-- change_contact: the buyer's word on an order that is not paid. Fields that are not named stay.
-- In      order id, item, buyer, contact (JSON)
-- Out     one row: state (of the order, where it is in the ledger), written, metadata and contact as they are now (null if not written)
-- Keeps   decided under the order's lock: from the commit of the payment on, the contact stays. Written for a pending order of this buyer, and for one
--         that is not in the ledger yet: the caller has seen this buyer's reservation
WITH known AS MATERIALIZED (
  SELECT buyer, state FROM (SELECT buyer, state FROM orders WHERE id = $1::bigint AND item = $2::bigint FOR SHARE) hot
  UNION ALL
  SELECT buyer, state FROM orders_archive WHERE id = $1::bigint AND item = $2::bigint
), written AS (
  INSERT INTO parcels (order_id, item, contact, look_at)
  SELECT $1::bigint, $2::bigint, $4::text::jsonb, CASE WHEN NOT EXISTS (SELECT FROM known) THEN clock_timestamp() + interval '1 minute' END
  WHERE NOT EXISTS (SELECT FROM known WHERE buyer <> $3::text OR state <> 'pending')
  ON CONFLICT (order_id) DO UPDATE SET contact = coalesce(parcels.contact, '{}') || excluded.contact
  RETURNING metadata, contact
)
SELECT (SELECT state FROM known WHERE buyer = $3::text) AS state, EXISTS (SELECT FROM written) AS written,
       (SELECT metadata FROM written) AS metadata, (SELECT contact FROM written) AS contact

-- orders_by_contact: orders by an e-mail address, a phone number or a name, newest first, by cursor.
-- In      the text, before (order id or null), limit
-- Out     order_id
-- Keeps   the whole of each is compared, without regard to case, and of a phone number its digits; by an index each, `limit` rows of each at most. A text with
--         fewer than five digits, or with letters, is no phone number
SELECT order_id FROM (
  (SELECT order_id FROM parcels
   WHERE email_key = lower($1::text) AND order_id < coalesce($2::bigint, 9223372036854775807) ORDER BY email_key DESC, order_id DESC LIMIT $3::int)
  UNION
  (SELECT order_id FROM parcels
   WHERE phone_key = CASE WHEN $1::text ~ '^[-+0-9 ()./]*$' AND length(regexp_replace($1::text, '[^0-9]', '', 'g')) >= 5
                     THEN regexp_replace($1::text, '[^0-9]', '', 'g') END
     AND order_id < coalesce($2::bigint, 9223372036854775807) ORDER BY phone_key DESC, order_id DESC LIMIT $3::int)
  UNION
  (SELECT order_id FROM parcels
   WHERE name_key = lower($1::text) AND order_id < coalesce($2::bigint, 9223372036854775807) ORDER BY name_key DESC, order_id DESC LIMIT $3::int)
) found
ORDER BY order_id DESC LIMIT $3::int

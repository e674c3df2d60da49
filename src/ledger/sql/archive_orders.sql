-- archive_orders: calls functions/archive_orders.sql; In, Out and Keeps are said there.
SELECT moved, last FROM archive_orders($1, $2, $3)

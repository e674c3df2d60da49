-- place_together: calls the function of the same name, functions/place_together.sql.
-- In      items (each once), epochs, acknowledged; then six parallel arrays over all asks: whose (nth item, from 1), and as place takes them
-- Out     one row per item: nth, status (also locked), sale, price_minor, currency, placed_at, pay_by, available, odd
-- Keeps   what the function keeps; one statement is one transaction and one round trip
SELECT nth, status, sale, price_minor, currency, placed_at, pay_by, available, odd
FROM place_together($1, $2, $3, $4, $5, $6, $7, $8, $9)

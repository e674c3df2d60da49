-- note_closing_soon: calls functions/note_closing_soon.sql; In, Out and Keeps are said there.
SELECT note_closing_soon($1, $2) AS orders

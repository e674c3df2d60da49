-- recall_item: calls functions/recall_item.sql; In, Out and Keeps are said there.
SELECT recall_item($1, $2) AS was

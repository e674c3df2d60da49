-- joins_with_order: which joins of a line have led to an order.
-- In      sale
-- Out     number, of each join that counts and whose buyer has placed an order of the sale, whatever became of it
SELECT DISTINCT j.number
FROM items i
JOIN orders o ON o.item = i.id AND o.reason IS DISTINCT FROM 'refused'
JOIN line_joins j ON j.sale = i.sale AND j.buyer = o.buyer AND j.left_no IS NULL
WHERE i.sale = $1

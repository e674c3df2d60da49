/**
 * Buyers' calls with the typed client, by method and path, as `/docs` shows them. `client` is a `StampedeClient`; `sale`, `item`, `order` and `token` are texts. A test
 * compiles each against the client and its types.
 */

export const CLIENT_SAMPLES: Readonly<Record<string, string>> = {
  'GET /api/time': 'const nowMs = await client.serverNowMs()',
  'GET /api/sales': 'const sales = await client.sales()',
  'GET /api/sales/{sale}': 'const { items } = await client.sale(sale)',
  'POST /api/session': 'await client.signIn(token)',
  'GET /api/session': 'const { buyer } = await client.session()',
  'POST /api/sales/{sale}/items/{item}/ticket': 'const { ticket } = await client.ticket(sale, item)',
  'POST /api/sales/{sale}/items/{item}/orders':
    '// Gets the ticket, waits for the opening, asks again where that is right.\nconst bought = await client.buy(sale, item, { quantity: 1 })',
  'POST /api/sales/{sale}/line':
    '// `buy` does it by itself, and waits. By hand:\nconst { number, place, estimate } = await client.joinLine(sale)',
  'GET /api/sales/{sale}/line': 'const { state, ahead } = await client.placeInLine(sale)',
  'DELETE /api/sales/{sale}/line': 'await client.leaveLine(sale)',
  'GET /api/orders': 'const { orders, next } = await client.orders()',
  'GET /api/orders/{id}': 'const { state } = await client.order(order)',
  'PATCH /api/orders/{id}': "await client.setContact(order, { email: 'ada@example.com' })",
  'POST /api/orders/{id}/cancel': 'await client.cancel(order)',
  'POST /api/orders/{id}/payment': 'const { payUrl } = await client.pay(order, { returnUrl: location.href })',
  'GET /api/live':
    "const stop = client.watch(news => {\n  if (news.type === 'order') console.log(news.order.state)\n})",
}

/** A program of a shop, run by Node: buys with the client's package, and prints what became of it as one line of JSON. */

const { dist, url, token, sale, item, quantity, loseFirst, keeps, metadata } = JSON.parse(process.argv[2])
const { StampedeClient, StampedeFailure } = await import(`${dist}/index.js`)

let lost = 0
/** The server has done it, and its answer never arrives. */
const losing = async (address, options) => {
  const answer = await fetch(address, options)
  if (loseFirst && lost === 0 && String(address).endsWith('/orders') && options.method === 'POST') {
    lost += 1
    await answer.text()
    throw new TypeError('the connection was lost')
  }
  return answer
}

let tokens = 0
const client = new StampedeClient({
  url,
  fetch: losing,
  // The first one has expired: the client asks for another.
  token: () => (tokens++ === 0 ? 'eyJhbGciOiJIUzI1NiJ9.e30.x' : token),
})
const states = []
const options = { quantity, metadata, onState: ({ kind }) => states.at(-1) !== kind && states.push(kind) }
try {
  const order = await client.buy(sale, item, options)
  const { orders } = await client.orders()
  let missing
  const paid = await client.pay(order.id).catch(error => {
    if (error.code !== 'contact_missing') throw error
    missing = error.more.missing
    return client
      .setContact(order.id, { email: 'ada@example.com', phone: '+49 30 901820' })
      .then(() => client.pay(order.id))
  })
  const { contact } = await client.order(order.id)
  const cancelled = keeps ? {} : await client.cancel(order.id)
  console.log(
    JSON.stringify({
      order,
      orders: orders.length,
      payUrl: paid.payUrl,
      cancelled: cancelled.reason,
      states,
      lost,
      missing,
      contact,
    }),
  )
} catch (error) {
  if (!(error instanceof StampedeFailure)) throw error
  console.log(JSON.stringify({ code: error.code, status: error.status, more: error.more, states }))
}

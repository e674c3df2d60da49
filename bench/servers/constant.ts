/** Program: the simplest Bun server. Answers every request with the same status, headers (as JSON) and body, given as arguments. */

const [status, headers, body] = process.argv.slice(2)
const init = { status: Number(status), headers: JSON.parse(headers!) }
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, development: false, fetch: () => new Response(body, init) })
process.on('SIGTERM', () => process.exit(0))
console.log(`ready on http://127.0.0.1:${server.port}`)

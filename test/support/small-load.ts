// Asks a service for signatures and lists, a few at once, until the file STOP is there. Runs inside of the machine that
// serves it, with nothing but the runtime. Prints how many requests were answered, and each that failed.

import { existsSync, readFileSync } from 'node:fs'

const { URL: url = '', PROJECT: project = '', KEY: key = '', ADDRESS: address = '', STOP: stop = '' } = process.env
const LOOPS = 3
const REQUESTS_MAX = 20_000

const headers = {
  'X-WalletKit-Project-ID': project,
  Authorization: `Bearer ${key}`,
  'Content-Type': 'application/json',
}
const tls = { ca: readFileSync('/etc/strongroom/proxy/tls.crt', 'utf8') }
const signature = {
  ...{ network: 'Ethereum', signer_wallet_address: address, user_pin: '493817', message: 'Hello' },
}
let answered = 0
const failed: string[] = []

const ask = async (method: string, path: string, body?: string): Promise<void> => {
  const began = new Date().toISOString()
  const given = body === undefined ? {} : { body }
  const outcome = await fetch(`${url}${path}`, { method, headers, tls, ...given })
    .then(async (answer) => (answer.status === 200 ? null : `${answer.status} ${await answer.text()}`))
    .catch((error: unknown) => String(error))
  answered += 1
  if (outcome !== null) failed.push(`${began} ${method} ${path}: ${outcome}`)
}

const loop = async (): Promise<void> => {
  while (!existsSync(stop) && answered < REQUESTS_MAX) {
    await ask('POST', '/transactions/sign-message', JSON.stringify(signature))
    await ask('GET', '/wallets?network=Ethereum')
    await Bun.sleep(100)
  }
}

await Promise.all(Array.from({ length: LOOPS }, loop))
console.log(JSON.stringify({ answered, failed }))

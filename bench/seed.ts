// `bun bench/seed.ts DATABASE_URL [--wallets N] [--movements N] [--attempts N] [--audit-rows N]`: fills an empty
// database of a testnet. Without options: 1.1 million wallets, 5 million movements, 2.1 million attempts, 2 million
// audit rows, in minutes.

import { parseArgs } from 'node:util'
import { BIG, makeSizeRows } from './size-rows.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    wallets: { type: 'string', default: String(BIG.wallets) },
    movements: { type: 'string', default: String(BIG.movements) },
    attempts: { type: 'string', default: String(BIG.attempts) },
    'audit-rows': { type: 'string', default: String(BIG.auditRows) },
  },
})
const [url] = positionals
if (url === undefined) throw new Error('The URL of the database is missing: postgres://superuser@127.0.0.1/name.')

const count = (text: string): number => {
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new Error(`A number of rows must be a whole number from 1, not "${text}".`)
  return Number(text)
}

const made = await makeSizeRows({
  url,
  sizes: {
    wallets: count(values.wallets),
    movements: count(values.movements),
    attempts: count(values.attempts),
    auditRows: count(values['audit-rows']),
  },
})
process.stdout.write(`${JSON.stringify(made, null, 2)}\n`)

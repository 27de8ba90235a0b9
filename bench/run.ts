// `bun run bench [--json] [sign] [custody] [broadcast] [submit] [far] [track] [heads] [preview] [activity] [size]
// [console] [index] [substrate-sign] [substrate-index] [users] [body] [vault] [journal] [policy] [events] [webhooks]
// [overload] [dev]`: tables with the baseline of the same run beside each figure. With `--against <commit>` the same at
// that commit, in turns (against.ts).

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../devnet/postgres.ts'
import { startChain } from '../test/support/chains.ts'
import { type Service, startService } from '../test/support/service.ts'
import { benchActivity } from './activity.ts'
import { benchAgainst } from './against.ts'
import { benchBody, bodyTable } from './body.ts'
import { benchBroadcast } from './broadcast.ts'
import { benchConsole, consoleTable } from './console.ts'
import { benchCustody } from './custody.ts'
import { benchDevStart } from './dev-start.ts'
import { benchEvents, eventsTable } from './events.ts'
import { benchFar } from './far.ts'
import { benchGrowth, growthTable } from './growth.ts'
import { benchHeads, headsTable } from './heads.ts'
import { benchIndex, indexTable } from './index.ts'
import { benchJournal, journalTable } from './journal.ts'
import { benchOverload, overloadTable } from './overload.ts'
import { benchPolicy, policyTable } from './policy.ts'
import { benchPreview } from './preview.ts'
import { benchSign, signTable } from './sign.ts'
import { benchSize, sizeTable } from './size.ts'
import { COUNTING_SETTINGS } from './statements.ts'
import { benchSubmit } from './submit.ts'
import { benchSubstrateIndex, substrateIndexTable } from './substrate-index.ts'
import { benchSubstrateMemory, substrateMemoryLine } from './substrate-memory.ts'
import { benchSubstrateSign, substrateSignTable } from './substrate-sign.ts'
import { benchTrack } from './track.ts'
import { benchUsers, usersTable } from './users.ts'
import { benchVault, vaultTable } from './vault.ts'
import { benchWebhooks, webhooksTable } from './webhooks.ts'

const json = process.argv.includes('--json')
const given = process.argv.slice(2)
const commit = given.includes('--against') ? given[given.indexOf('--against') + 1] : undefined
const wanted = given.filter((each) => !each.startsWith('--') && each !== commit)
if (given.includes('--against') && commit === undefined) throw new Error('--against needs a commit')
if (commit !== undefined) process.exit((await benchAgainst(commit, wanted)) ? 0 : 1)
const wants = (name: string) => wanted.length === 0 || wanted.includes(name)
const say = (text: string) => {
  if (!json) process.stdout.write(`${text}\n`)
}
const fixed = (value: number, digits = 1) => value.toFixed(digits)

const folder = await mkdtemp(join(tmpdir(), 'strongroom-bench-'))
// As durable as in production: a committed insert waits for the disk, here as there.
const server = await startPostgres({
  dataDirectory: join(folder, 'postgres'),
  durable: true,
  settings: COUNTING_SETTINGS,
})
process.env.STRONGROOM_TEST_POSTGRES_URL = server.url
// At every end, also of an interrupted run: the database may have gigabytes.
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const results: Record<string, unknown> = {}
const startAlone = () => startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } })
/** Measures a service without a chain. */
const onService = async <Result>(bench: (service: Service) => Promise<Result>): Promise<Result> => {
  const service = await startAlone()
  const result = await bench(service)
  await service.close()
  return result
}

try {
  if (wants('sign')) {
    const sign = await onService((service) => benchSign({ service, postgresPid: server.process.pid }))
    results.sign = sign
    for (const line of signTable(sign)) say(line)
  }
  if (wants('custody')) {
    const custody = await onService(benchCustody)
    results.custody = custody
    const { developerWallets, userWallets, pinSignatures, bareArgon2PerSecond, pinRatio, memory } = custody
    say('\nCustody over HTTP                        per second   p50 ms   p99 ms')
    for (const [name, run] of [
      ['new developer wallet, 32 at once', developerWallets],
      ['new user wallet, 32 at once', userWallets],
      ['sign with a PIN, 64 at once, 16 owners', pinSignatures],
    ] as const) {
      say(
        `  ${name.padEnd(38)} ${fixed(run.perSecond, 0).padStart(9)} ${fixed(run.p50Ms).padStart(8)} ${fixed(run.p99Ms).padStart(8)}`,
      )
    }
    say(
      `  bare argon2id on all cores             ${fixed(bareArgon2PerSecond, 0).padStart(9)}   → PIN signatures at ${fixed(pinRatio * 100, 0)}% of it`,
    )
    say(
      `  memory of the vault: ${fixed(memory.beforeMiB, 0)} MiB before, ${fixed(memory.peakMiB, 0)} MiB at the most with 64 PINs at once`,
    )
  }
  if (wants('broadcast')) {
    const chain = await startChain('Ethereum')
    const service = await startService({ rpcUrls: { Ethereum: chain.rpcUrl } })
    const latency = await benchBroadcast({ service, fund: (address) => chain.fund(address) })
    await service.close()
    await chain.stop()
    results.broadcast = latency
    say(
      `\nRecorded → broadcast, ${latency.perSecond}/s, ${latency.intents} intents: p50 ${fixed(latency.p50Ms)} ms, p99 ${fixed(latency.p99Ms)} ms`,
    )
  }
  if (wants('submit')) {
    // A block a second, as on the fastest networks, and room in it for all that comes.
    const chain = await startChain('Ethereum', { flags: ['--block-time', '1', '--gas-limit', '1000000000'] })
    const service = await startService({ rpcUrls: { Ethereum: chain.rpcUrl } })
    const submit = await benchSubmit({ service, chain, postgresPid: server.process.pid })
    await service.close()
    await chain.stop()
    results.submit = submit
    const { cpuMs, counted } = submit
    const total = Object.values(cpuMs).reduce((sum, ms) => sum + ms, 0)
    say('\nIntents, from the request until mined and told, 128 signers, 64 at once')
    say(
      `  ${fixed(submit.perSecond, 0)}/s; the node alone: ${fixed(submit.nodePerSecond, 0)} transactions/s pushed and mined, ${fixed(submit.nodeAsksPerSecond, 0)}/s asked about; answers p50 ${fixed(submit.p50Ms)} ms, p99 ${fixed(submit.p99Ms)} ms`,
    )
    say(
      `  CPU time of one: ${fixed(total, 2)} ms (${Object.entries(cpuMs)
        .map(([part, ms]) => `${part} ${fixed(ms, 2)}`)
        .join(
          ', ',
        )}), so that the machine is ${fixed(submit.busy * 100, 0)}% busy; of one pushed at the node: ${fixed(submit.nodeCpuMs, 2)} ms`,
    )
    const { oneSigner } = submit
    say(
      `  accepted of one signer, 32 at once: ${fixed(oneSigner.perSecond, 0)}/s, p50 ${fixed(oneSigner.p50Ms)} ms; after each round all are told`,
    )
    say(
      `  one takes ${fixed(counted.requests)} requests to the node with ${fixed(counted.calls)} calls (${fixed(counted.bytes / 1000)} kB), ${fixed(counted.statements)} statements and ${fixed(counted.databaseMs, 2)} ms in the database`,
    )
  }
  if (wants('far')) {
    const chain = await startChain('Ethereum')
    const far = await benchFar({ chain, start: (rpcUrl) => startService({ rpcUrls: { Ethereum: rpcUrl } }) })
    await chain.stop()
    results.far = far
    say(
      `\nIntents with a node that is 100 ms away, 32 at once: ${fixed(far.oneSigner, 0)}/s of one signer, ${fixed(far.manySigners, 0)}/s of 32 signers`,
    )
  }
  if (wants('track')) {
    const chain = await startChain('Ethereum')
    const service = await startService({ rpcUrls: { Ethereum: chain.rpcUrl } })
    const track = await benchTrack({ service, chain })
    await service.close()
    await chain.stop()
    results.track = track
    const figures = ({
      ms,
      databaseMs,
      statements,
      requests,
      calls,
      bytes,
      longestBatch,
    }: (typeof track.rounds)[number]) =>
      [fixed(ms), fixed(databaseMs), statements, requests, calls, fixed(bytes / 1000, 0), longestBatch]
        .map((figure) => String(figure).padStart(10))
        .join('')
    say('\nTracking                             ms     db ms statements  requests     calls        kB  longest batch')
    for (const block of track.blocks) {
      say(`  ${`${block.pending} pending, block with ${block.mined}`.padEnd(28)}${figures(block)}`)
    }
    for (const round of track.rounds) {
      say(`  ${`${round.pending} pending, reconciler`.padEnd(28)}${figures(round)}`)
    }
  }
  if (wants('heads')) {
    const heads = await benchHeads()
    results.heads = heads
    for (const text of headsTable(heads)) say(text)
  }
  if (wants('preview')) {
    const chain = await startChain('Ethereum')
    const costs = await benchPreview({ chain, start: (rpcUrl) => startService({ rpcUrls: { Ethereum: rpcUrl } }) })
    await chain.stop()
    results.preview = costs
    say(
      '\nPreview over HTTP, one at a time         own p50 ms   node p50 ms   requests to the node   (aim: own ≤ 2 ms)',
    )
    for (const { what, ownMs, nodeMs, requests } of costs) {
      say(
        `  ${what.padEnd(38)} ${fixed(ownMs, 2).padStart(10)} ${fixed(nodeMs, 2).padStart(13)} ${fixed(requests, 0).padStart(22)}`,
      )
    }
  }
  if (wants('activity')) {
    const activity = await benchActivity({ start: startAlone })
    results.activity = activity
    const { rows, buildSeconds, costs, fullReads } = activity
    say(
      `\nLists over HTTP, one at a time             ${rows.few} movements: p50 ms   p99 ms   ${rows.many}: p50 ms   p99 ms   ratio`,
    )
    for (const { what, few, many } of costs) {
      say(
        `  ${what.padEnd(42)} ${fixed(few.p50Ms, 2).padStart(23)} ${fixed(few.p99Ms, 2).padStart(8)} ${fixed(many.p50Ms, 2).padStart(18)} ${fixed(many.p99Ms, 2).padStart(8)} ${fixed(many.p50Ms / few.p50Ms, 2).padStart(7)}`,
      )
    }
    say(`  the table was made in ${fixed(buildSeconds, 0)} s, and read as a whole ${fullReads} times (aim: 0)`)
  }
  if (wants('size')) {
    const size = await benchSize({ start: startAlone })
    results.size = size
    for (const text of sizeTable(size)) say(text)
  }
  if (wants('console')) {
    const pages = await onService((service) => benchConsole(service, server.process.pid))
    results.console = pages
    for (const text of consoleTable(pages)) say(text)
  }
  if (wants('growth')) {
    const growth = await benchGrowth()
    results.growth = growth
    for (const text of growthTable(growth)) say(text)
  }
  if (wants('index')) {
    const index = await benchIndex({ databaseUrl: server.url })
    results.index = index
    for (const text of indexTable(index)) say(text)
  }
  if (wants('substrate-sign')) {
    const bench = await benchSubstrateSign()
    results.substrateSign = bench
    for (const text of substrateSignTable(bench)) say(text)
    const memory = await benchSubstrateMemory()
    results.substrateMemory = memory
    say(substrateMemoryLine(memory))
  }
  if (wants('substrate-index')) {
    const bench = await benchSubstrateIndex()
    results.substrateIndex = bench
    for (const text of substrateIndexTable(bench)) say(text)
  }
  if (wants('users')) {
    const users = await onService((service) => benchUsers({ service, postgresPid: server.process.pid }))
    results.users = users
    for (const text of usersTable(users)) say(text)
  }
  if (wants('body')) {
    const body = await onService(benchBody)
    results.body = body
    for (const text of bodyTable(body)) say(text)
  }
  if (wants('vault')) {
    const vault = await onService(benchVault)
    results.vault = vault
    for (const text of vaultTable(vault)) say(text)
  }
  if (wants('journal')) {
    const journal = await onService(benchJournal)
    results.journal = journal
    for (const text of journalTable(journal)) say(text)
  }
  if (wants('policy')) {
    const chain = await startChain('Ethereum')
    const service = await startService({ rpcUrls: { Ethereum: chain.rpcUrl } })
    const policy = await benchPolicy(service, chain)
    await service.close()
    await chain.stop()
    results.policy = policy
    for (const text of policyTable(policy)) say(text)
  }
  if (wants('events')) {
    const chain = await startChain('Ethereum')
    const service = await startService({ rpcUrls: { Ethereum: chain.rpcUrl } })
    const events = await benchEvents({ service, chain, postgresPid: server.process.pid })
    await service.close()
    await chain.stop()
    results.events = events
    for (const text of eventsTable(events)) say(text)
  }
  if (wants('webhooks')) {
    const service = await startService({ variables: { OUTGOING_ALLOWED_HOSTS: '127.0.0.1' } })
    const webhooks = await benchWebhooks(service, server.process.pid)
    await service.close()
    results.webhooks = webhooks
    for (const text of webhooksTable(webhooks)) say(text)
  }
  if (wants('overload')) {
    const chain = await startChain('Ethereum', { flags: ['--block-time', '1', '--gas-limit', '1000000000'] })
    const service = await startService({ rpcUrls: { Ethereum: chain.rpcUrl } })
    const { OVERLOAD_SECONDS } = process.env
    const lasting = OVERLOAD_SECONDS === undefined ? {} : { seconds: Number(OVERLOAD_SECONDS) }
    const overload = await benchOverload({ service, chain, ...lasting })
    await service.close()
    await chain.stop()
    results.overload = overload
    for (const text of overloadTable(overload)) say(text)
  }
  if (wants('dev')) {
    const dev = await benchDevStart()
    results.dev = dev
    say(`\nDev stack: first start ${fixed(dev.firstSeconds)} s, second ${fixed(dev.secondSeconds)} s (aim: under 15 s)`)
  }
  if (json) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`)
} finally {
  await server.stop()
}

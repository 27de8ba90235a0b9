// A chain that stands still, as each place shows it: /readyz, `cli nodes`, `doctor`, two pages of the console, and the
// metrics.

import { describe, expect, test } from 'bun:test'
import type { Asked } from '../../src/operators/console/frame.ts'
import { nodes } from '../../src/operators/console/rooms/networks.ts'
import { overview } from '../../src/operators/console/rooms/overview.ts'
import type { Finding } from '../../src/operators/doctor/finding.ts'
import { readMetrics } from '../metrics/exposition.ts'
import { startChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { startConsole } from '../support/console.ts'
import { longTest } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { until } from '../support/until.ts'

const HOUR_SECONDS = 3_600
const LIMIT_SECONDS = 120
const nowSeconds = () => Math.floor(Date.now() / 1_000)

const chain = await shared(
  startChain('Ethereum', { flags: ['--no-mining', '--timestamp', String(nowSeconds() - HOUR_SECONDS)] }),
)
const service = await shared(
  startService({
    rpcUrls: { Ethereum: chain.rpcUrl },
    variables: { ETHEREUM_STALLED_AFTER_SECONDS: String(LIMIT_SECONDS) },
  }),
)
const operators = await shared(startConsole(service))

const session: Asked['session'] = {
  operator: { name: 'vera', role: 'viewer' },
  hash: new Uint8Array(32),
  expiresAt: new Date(),
  csrf: '',
}

/** A page of the console, without its tags. */
const pageText = async (room: typeof nodes): Promise<string> =>
  (await room({ ...operators.ctx, origin: operators.origin }, { session, query: new Map() })).body.markup
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')

const cli = async (...args: readonly string[]) => JSON.parse((await runCli(args, service.variables)).output)

const everywhere = async () => {
  const { networks, nodes: byNumber, status } = (await service.get('/readyz')).json
  const findings: Finding[] = await cli('doctor', '--json')
  const series = readMetrics((await service.call('/metrics')).text)
  const found = (check: string) => findings.find((finding) => finding.check === check)
  return {
    readyz: { status, networks, nodes: byNumber },
    cli: await cli('nodes', '--json'),
    doctor: found('node Ethereum 1 (127.0.0.1)'),
    nodes: await pageText(nodes),
    overview: await pageText(overview),
    ageSeconds: series.value('head_age_seconds', { network: 'Ethereum' }),
    limitSeconds: series.value('head_age_limit_seconds', { network: 'Ethereum' }),
    isUsed: series.value('node_ready', { network: 'Ethereum', node: '1 (127.0.0.1)' }),
  }
}

describe('a chain whose newest block is an hour old', () => {
  test('is stalled everywhere, and the API stays in rotation', async () => {
    const { doctor, ageSeconds, ...shown } = await everywhere()
    expect(shown.cli[0].head_age_seconds).toBeGreaterThanOrEqual(HOUR_SECONDS)
    expect(shown).toMatchObject({
      readyz: { status: 'ready', networks: { Ethereum: 'stalled' }, nodes: { 'Ethereum#1': 'stalled' } },
      cli: [{ network: 'Ethereum', state: 'stalled', height: '0' }],
      nodes: expect.stringMatching(/1 \(127\.0\.0\.1\) stalled 0 60 min /),
      overview: expect.stringMatching(/Ethereum stalled 0 60 min old /),
      limitSeconds: LIMIT_SECONDS,
      isUsed: 1,
    })
    expect(ageSeconds).toBeGreaterThanOrEqual(HOUR_SECONDS)
    expect(doctor).toMatchObject({
      state: 'failed',
      found: expect.stringMatching(/^stalled, block 0, 36\d\d s old, \d+ ms$/),
      advice: expect.stringContaining('nothing is mined'),
    })
    expect((await runCli(['nodes'], service.variables)).output).toMatch(/ stalled +0 +36\d\d s +0 s /)
  })

  test('of which blocks come only with transactions is not stalled', async () => {
    const onDemand = { ...service.variables, ETHEREUM_STALLED_AFTER_SECONDS: '' }
    const { output } = await runCli(['nodes', '--json'], onDemand)
    expect(JSON.parse(output)).toMatchObject([{ state: 'up' }])
  })

  longTest('is up again with the next block', async () => {
    await chain.rpc('evm_setNextBlockTimestamp', [nowSeconds()])
    await chain.mine()
    // Neither an API nor the console asks the nodes each time.
    await until(async () => (await service.get('/readyz')).json.networks.Ethereum === 'ready')
    await until(async () => (await pageText(nodes)).includes(' up '))
    const { doctor, ageSeconds, ...shown } = await everywhere()
    expect(shown).toMatchObject({
      readyz: { nodes: { 'Ethereum#1': 'up' } },
      cli: [{ state: 'up' }],
      nodes: expect.stringContaining('1 (127.0.0.1) up 1 '),
      overview: expect.stringMatching(/Ethereum up 1 –/),
    })
    expect(doctor?.state).toBe('ok')
    expect(ageSeconds).toBeLessThan(LIMIT_SECONDS)
  })
})

// deploy/prometheus and deploy/grafana: each alert comes when it should, and none comes while all is well. Prometheus'
// own promtool says so.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../support/imports.ts'
import { alerts, panels, questions, RULES_PATH } from '../support/monitoring.ts'

type Case = {
  /** Series that replace those of a deployment in which all is well, in promtool's notation; one value a minute. */
  readonly series: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
  /** Minutes after which it is there, and before which it is not. 30 by default, and nothing is said of before. */
  readonly after?: number
  /** Other alerts that do not come then. */
  readonly silent?: readonly string[]
}

/** A deployment in which all is well. */
const WELL: Readonly<Record<string, string>> = {
  'up{job="strongroom-api",instance="api-1"}': '1x180',
  'up{job="strongroom-worker",instance="worker-1"}': '1x180',
  'strongroom_database_up{instance="api-1"}': '1x180',
  'strongroom_database_full{instance="api-1"}': '0x180',
  'strongroom_jobs_oldest_ready_age_seconds{instance="api-1",task="broadcast_transaction"}': '2x180',
  'strongroom_jobs_failed{instance="api-1",task="broadcast_transaction"}': '0x180',
  'strongroom_transactions_oldest_age_seconds{instance="api-1",network="Ethereum",status="submitted"}': '1x180',
  'strongroom_transactions_oldest_age_seconds{instance="api-1",network="Ethereum",status="pending"}': '60x180',
  'strongroom_transactions_failed_total{instance="worker-1",network="Ethereum",code="execution_reverted"}': '0+1x180',
  'strongroom_transactions_failed_total{instance="worker-1",network="Ethereum",code="expired"}': '0x180',
  'strongroom_blocks_behind{instance="api-1",network="Ethereum",purpose="track"}': '1x180',
  'strongroom_cursor_age_seconds{instance="api-1",network="Ethereum",purpose="index"}': '12x180',
  'strongroom_head_age_seconds{instance="api-1",network="Ethereum"}': '110x180',
  'strongroom_head_age_seconds{instance="api-2",network="Ethereum"}': '300x180',
  'strongroom_head_age_limit_seconds{instance="api-1",network="Ethereum"}': '120x180',
  'strongroom_head_age_limit_seconds{instance="api-2",network="Ethereum"}': '120x180',
  // Its blocks come only with transactions.
  'strongroom_head_age_seconds{instance="api-1",network="Harbor"}': '0+60x180',
  'strongroom_node_up{instance="api-1",network="Ethereum"}': '1x180',
  'strongroom_node_ready{instance="api-1",network="Ethereum",node="1"}': '1x180',
  'strongroom_node_ready{instance="api-1",network="Ethereum",node="2"}': '1x180',
  'strongroom_backfills_open{instance="api-1",network="Ethereum",state="walking"}': '3x180',
  'strongroom_backfills_open{instance="api-1",network="Ethereum",state="pruned"}': '0x180',
  'strongroom_balance_differences_total{instance="worker-1",network="Ethereum",asset="token"}': '0x180',
  'strongroom_node_failures_total{instance="api-1",network="Ethereum",trouble="timeout"}': '0+1x180',
  'strongroom_node_failures_total{instance="api-1",network="Ethereum",trouble="wrong_chain"}': '0x180',
  'strongroom_deep_reorganisations_total{instance="worker-1",network="Ethereum"}': '0x180',
  'strongroom_reorganised_blocks_total{instance="worker-1",network="Ethereum",purpose="track"}': '0+1x180',
  'strongroom_audit_unchained_age_seconds{instance="api-1"}': '1x180',
  'strongroom_webhook_oldest_untried_seconds{instance="api-1"}': '0 90 0x178',
  'strongroom_webhook_oldest_waiting_seconds{instance="api-1"}': '0+60x180',
  'strongroom_webhooks_disabled{instance="api-1"}': '3x180',
  'strongroom_security_events_total{instance="api-1",kind="owner_locked"}': '0 0 1x178',
  'strongroom_security_events_total{instance="api-1",kind="session_mismatch"}': '0x180',
  'strongroom_security_events_total{instance="worker-1",kind="row_forged"}': '0x180',
  'strongroom_security_events_total{instance="api-1",kind="refresh_token_reused"}': '0 0 1x178',
  'strongroom_security_events_total{instance="api-1",kind="api_key_unknown"}': '0+1x180',
  'strongroom_security_events_total{instance="api-1",kind="login_failed"}': '0+2x180',
  'strongroom_argon2_waiting{instance="api-1"}': '2x180',
  'strongroom_spans_dropped_total{instance="worker-1",reason="queue_full"}': '7x180',
  'strongroom_spans_dropped_total{instance="worker-1",reason="refused"}': '0x180',
  'strongroom_http_request_duration_seconds_count{instance="api-1",method="POST",route="/wallets",status="200"}':
    '0+600x180',
  'strongroom_http_request_duration_seconds_count{instance="api-1",method="POST",route="/wallets",status="500"}':
    '0 0 1x178',
}

const event = (kind: string, values: string): Case => ({
  series: { [`strongroom_security_events_total{instance="api-1",kind="${kind}"}`]: values },
})
const network = 'Ethereum'
const onEthereum = (name: string, further: string, values: string, labels: Readonly<Record<string, string>>): Case => ({
  series: {
    [`strongroom_${name}{instance="${name.endsWith('_total') ? 'worker-1' : 'api-1'}",network="Ethereum"${further}}`]:
      values,
  },
  labels: { network, ...labels },
})

const CASES: Readonly<Record<string, Case>> = {
  StrongroomApiAway: { series: { 'up{job="strongroom-api",instance="api-1"}': '1 1 1 _x177' } },
  StrongroomWorkerAway: {
    series: { 'up{job="strongroom-worker",instance="worker-1"}': '0x180' },
    after: 1,
  },
  StrongroomProcessAway: {
    series: { 'up{job="strongroom-api",instance="api-2"}': '1x9 0x170' },
    labels: { job: 'strongroom-api', instance: 'api-2' },
    after: 11,
  },
  StrongroomDatabaseAway: { series: { 'strongroom_database_up{instance="api-1"}': '1x9 0x170' }, after: 11 },
  StrongroomDatabaseFull: { series: { 'strongroom_database_full{instance="api-1"}': '0x9 1x170' }, after: 10 },
  StrongroomJobsWait: {
    series: { 'strongroom_jobs_oldest_ready_age_seconds{instance="api-1",task="send_mail"}': '0+60x180' },
    labels: { task: 'send_mail' },
    after: 2,
  },
  StrongroomJobsFailed: {
    series: { 'strongroom_jobs_failed{instance="api-1",task="send_mail"}': '0x9 1x170' },
    labels: { task: 'send_mail' },
    after: 10,
  },
  StrongroomNotBroadcast: onEthereum('transactions_oldest_age_seconds', ',status="submitted"', '0+60x180', {}),
  StrongroomNotMined: onEthereum('transactions_oldest_age_seconds', ',status="pending"', '0+60x180', {}),
  StrongroomTransactionsFail: onEthereum('transactions_failed_total', ',code="expired"', '0x20 1x160', {
    code: 'expired',
  }),
  StrongroomBlocksBehind: {
    ...onEthereum('blocks_behind', ',purpose="track"', '0x9 51x170', { purpose: 'track' }),
    after: 15,
  },
  StrongroomFollowerStands: {
    ...onEthereum('cursor_age_seconds', ',purpose="index"', '0+60x180', { purpose: 'index' }),
    after: 6,
  },
  StrongroomNoNewBlock: {
    series: {
      'strongroom_head_age_seconds{instance="api-1",network="Ethereum"}': '0+60x180',
      'strongroom_head_age_seconds{instance="api-2",network="Ethereum"}': '0+60x180',
      // The follower is not blamed for it.
      'strongroom_cursor_age_seconds{instance="api-1",network="Ethereum",purpose="index"}': '0+60x180',
    },
    labels: { network },
    after: 4,
    silent: ['StrongroomFollowerStands'],
  },
  StrongroomNodeAway: { ...onEthereum('node_up', '', '1x9 0x170', {}), after: 12 },
  StrongroomNodeNotUsed: { ...onEthereum('node_ready', ',node="2"', '1x9 0x170', { node: '2' }), after: 20 },
  StrongroomPastNotListed: {
    ...onEthereum('backfills_open', ',state="pruned"', '0x9 1x170', { state: 'pruned' }),
    after: 70,
  },
  StrongroomBalancesDiffer: onEthereum('balance_differences_total', ',asset="token"', '0x9 1x170', { asset: 'token' }),
  StrongroomWrongChain: {
    series: {
      'strongroom_node_failures_total{instance="api-1",network="Ethereum",trouble="wrong_chain"}': '0x28 1x150',
    },
    labels: { network },
  },
  StrongroomFinalBlocksLost: onEthereum('deep_reorganisations_total', '', '0x9 1x170', {}),
  StrongroomDeepReorganisation: onEthereum('reorganised_blocks_total', ',purpose="track"', '0x25 40x150', {}),
  StrongroomAuditNotChained: {
    series: { 'strongroom_audit_unchained_age_seconds{instance="api-1"}': '0+60x180' },
    after: 2,
  },
  StrongroomWebhooksBehind: {
    series: { 'strongroom_webhook_oldest_untried_seconds{instance="api-1"}': '0+60x180' },
    after: 7,
  },
  StrongroomWebhookNotTaken: {
    series: { 'strongroom_webhook_oldest_waiting_seconds{instance="api-1"}': '20000+600x180' },
    after: 3,
  },
  StrongroomWebhookDisabled: {
    series: { 'strongroom_webhooks_disabled{instance="api-1"}': '3x79 4x100' },
    after: 80,
  },
  StrongroomPinsGuessed: event('owner_locked', '0x20 4x160'),
  StrongroomTokenOfAnotherSession: event('session_mismatch', '0x20 1x160'),
  StrongroomRowsForged: event('policy_forged', '0x20 1x160'),
  StrongroomRefreshTokenReused: event('refresh_token_reused', '0x20 6x160'),
  StrongroomTokensForged: event('access_token_forged', '0+10x180'),
  StrongroomLoginsFail: event('login_throttled', '0+20x180'),
  StrongroomSpansDropped: {
    series: { 'strongroom_spans_dropped_total{instance="worker-1",reason="refused"}': '0x20 1x160' },
    labels: { reason: 'refused' },
  },
  StrongroomPinsWait: { series: { 'strongroom_argon2_waiting{instance="api-1"}': '0x9 51x170' }, after: 11 },
  StrongroomOverloaded: { series: { 'strongroom_http_requests_refused_total{instance="api-1"}': '0+60x180' } },
  StrongroomErrors: {
    series: {
      'strongroom_http_request_duration_seconds_count{instance="api-1",method="POST",route="/wallets",status="503"}':
        '0+60x180',
    },
    labels: { route: '/wallets' },
  },
}

const HOURS_WELL = ['1m', '30m', '2h']

/** A text of a rule with the values of the labels in it. */
const withLabels = (text: string, labels: Readonly<Record<string, string>>) =>
  text.replace(/\{\{ \$labels\.(\w+) \}\}/g, (_, name) => labels[name] ?? '')

const inputOf = (changes: Readonly<Record<string, string>>) =>
  Object.entries({ ...WELL, ...changes }).map(([series, values]) => ({ series, values }))

/** What promtool is to check, as it wants it. */
const unitTests = () => {
  const well = {
    name: 'all is well',
    interval: '1m',
    input_series: inputOf({}),
    alert_rule_test: HOURS_WELL.flatMap((eval_time) =>
      alerts().map(({ alert }) => ({ eval_time, alertname: alert, exp_alerts: [] })),
    ),
  }
  const others = alerts().map(({ alert, labels: own, annotations }) => {
    const { series, labels = {}, after = 30, silent = [] }: Case = CASES[alert] ?? { series: {} }
    const exp_annotations = { summary: withLabels(annotations.summary, labels) }
    const there = [{ exp_labels: { ...own, ...labels }, exp_annotations }]
    const isEarlier = CASES[alert]?.after !== undefined
    return {
      name: alert,
      interval: '1m',
      input_series: inputOf(series),
      alert_rule_test: [
        ...(isEarlier ? [{ eval_time: `${after - 1}m`, alertname: alert, exp_alerts: [] }] : []),
        { eval_time: `${after}m`, alertname: alert, exp_alerts: there },
        ...silent.map((alertname) => ({ eval_time: '30m', alertname, exp_alerts: [] })),
      ],
    }
  })
  return { rule_files: [RULES_PATH], evaluation_interval: '1m', tests: [well, ...others] }
}

test('each alert has a case here, a severity and a summary', () => {
  expect(Object.keys(CASES).sort()).toEqual(
    alerts()
      .map(({ alert }) => alert)
      .sort(),
  )
  for (const { alert, labels, annotations } of alerts()) {
    expect({ alert, severity: labels.severity }).toEqual({
      alert,
      severity: expect.stringMatching(/^(page|ticket)$/),
    })
    expect({ alert, summary: annotations.summary }).toEqual({ alert, summary: expect.stringMatching(/\.$/) })
  }
})

test('the panels of the dashboard have their own ids and places', () => {
  const places = panels().map(({ gridPos: { x, y, w, h }, id }) => ({ x, y, w, h, id }))
  expect(new Set(places.map(({ id }) => id)).size).toBe(places.length)
  for (const one of places) {
    expect(one.x >= 0 && one.w > 0 && one.x + one.w <= 24).toBe(true)
    const isOver = (other: typeof one) =>
      other !== one &&
      one.x < other.x + other.w &&
      other.x < one.x + one.w &&
      one.y < other.y + other.h &&
      other.y < one.y + one.h
    expect({ id: one.id, over: places.filter(isOver).map(({ id }) => id) }).toEqual({ id: one.id, over: [] })
  }
})

const promtool = Bun.which('promtool')
if (promtool === null) {
  console.log('promtool is not installed: no alert is tried. Debian has it in the package prometheus.')
}

describe.skipIf(promtool === null)('promtool', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'strongroom-alerts-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const run = (...words: readonly string[]) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(['promtool', ...words])
    return { exitCode, told: exitCode === 0 ? '' : `${stdout}${stderr}` }
  }

  test('takes the rules', () => {
    expect(run('check', 'rules', RULES_PATH)).toEqual({ exitCode: 0, told: '' })
  })

  test('takes what the dashboard asks', async () => {
    const path = join(folder, 'dashboard.yml')
    const rules = questions().map((expr, index) => ({ record: `dashboard:${index}`, expr }))
    await writeFile(path, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
    expect(run('check', 'rules', path)).toEqual({ exitCode: 0, told: '' })
  })

  test('takes the configuration of compose.yaml', () => {
    expect(run('check', 'config', join(ROOT, 'deploy/prometheus/prometheus.yml'))).toEqual({ exitCode: 0, told: '' })
  })

  test('takes the configuration of docs/deployment.md', async () => {
    const [config, rules] = [join(folder, 'prometheus.yml'), join(folder, 'strongroom-alerts.yml')]
    await copyFile(join(ROOT, 'deploy/prometheus/one-machine.yml'), config)
    await copyFile(RULES_PATH, rules)
    expect(run('check', 'config', config)).toEqual({ exitCode: 0, told: '' })
  })

  test('sees each alert when it should come, and none while all is well', async () => {
    const path = join(folder, 'tests.yml')
    // JSON is YAML.
    await writeFile(path, JSON.stringify(unitTests()))
    expect(run('test', 'rules', path)).toEqual({ exitCode: 0, told: '' })
  })
})

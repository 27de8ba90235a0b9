// The README's pictures, docs/pictures: `bun test/pictures.ts` starts a local stack of its own, lets a project work
// there, and takes the console's overview and the page on which a user consents to a policy. It needs Chromium, and
// three minutes.

import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import postgres from 'postgres'
import type { Network } from '../db/words.ts'
import { type Story, storyOf, textAt } from '../devnet/demo-story.ts'
import { type DevProject, parseProject } from '../devnet/dev-folder.ts'
import { type DevJson, readDevJson } from '../devnet/dev-json.ts'
import { EVM_NAMES } from '../devnet/networks.ts'
import { freePort } from '../devnet/port.ts'
import { callRpc } from '../devnet/rpc.ts'
import { startTethered, type TetheredProcess } from '../devnet/tether.ts'
import { startChromium } from './support/chromium.ts'
import { ROOT } from './support/imports.ts'
import { until } from './support/until.ts'

const START_MS = 300_000
/** What waits is late after a minute. */
const LATE_MS = 180_000
/** A little less than the six hours that the plots show. */
const SPREAD_SECONDS = 21_000
const PIN = '493817'
const PAYMENTS = { quick: 20, slow: 5 } as const
/** The chain of this network makes no block any more, so that the console shows what is late, and why. */
const STALLED: Network = 'Harbor'
/** What is paid there then. */
const LATE = [10n ** 16n, 2n * 10n ** 16n, 3n * 10n ** 16n]

type Stack = { readonly folder: string; readonly dev: DevJson; readonly consoleLink: string }

const startStack = async (folder: string): Promise<Stack & { readonly process: TetheredProcess }> => {
  const logPath = join(folder, 'stack.log')
  const child = await startTethered({
    program: process.execPath,
    args: [join(ROOT, 'devnet/dev.ts')],
    env: { ...process.env, DEV_DIR: folder, PORT: String(await freePort()) },
    logPath,
    stopSignal: 'SIGTERM',
  })
  const look = async () => {
    const printed = await readFile(logPath, 'utf8')
    if (!child.isRunning()) throw new Error(`The stack has ended:\n${printed}`)
    return /http:\S+\/link\?secret=\S+/.exec(printed)?.[0] ?? ''
  }
  const consoleLink = await until(look, (link) => link !== '', START_MS)
  const dev = await readDevJson(folder)
  if (dev === undefined) throw new Error('The stack is not ready.')
  return { folder, dev, consoleLink, process: child }
}

const createProject = async ({ folder }: Stack, name: string): Promise<DevProject> => {
  const child = Bun.spawn([process.execPath, 'run', '--silent', 'cli', 'project', 'create', '--name', name, '--json'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', DEV_DIR: folder },
    stderr: 'inherit',
  })
  return parseProject(await new Response(child.stdout).text())
}

const newWallet = async (story: Story, network: Network, ownerId: string): Promise<string> => {
  const owner = { owner_id: ownerId, control_mode: 'user', user_pin: PIN }
  return textAt(await story.post('/wallets', { network, name: ownerId, ...owner }), 'address')
}

const pay = async (story: Story, network: Network, { to, value }: { readonly to: string; readonly value: bigint }) =>
  story.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: await story.walletOfProject(network),
    unsigned_transaction: { to, value: value.toString() },
    developer_secret: story.secret,
  })

/** Payments to three people on each network. Then one chain stands still, and three more wait there. */
const work = async (story: Story, dev: DevJson): Promise<void> => {
  const networks = Object.keys(dev.networks) as readonly Network[]
  const payments = networks.map(async (network) => {
    const isEvm = EVM_NAMES.some((name) => name === network)
    const people: string[] = []
    for (const owner of ['alice', 'bob', 'carol']) people.push(await newWallet(story, network, owner))
    const sent: unknown[] = []
    for (let index = 0; index < (isEvm ? PAYMENTS.quick : PAYMENTS.slow); index += 1) {
      const value = isEvm ? 10n ** 16n : 10n ** 12n
      sent.push(await pay(story, network, { to: people[index % people.length] ?? '', value }))
    }
    for (const each of sent) await story.succeeded(each)
  })
  await Promise.all(payments)
  await callRpc(dev.networks[STALLED]?.rpc_url ?? '', 'evm_setIntervalMining', [0])
  const to = await newWallet(story, STALLED, 'dave')
  for (const value of LATE) await pay(story, STALLED, { to, value })
}

/**
 * Moves what has ended into the past, each with all its times, as if the project had worked for hours. What waits is
 * not moved.
 */
const spreadTimes = async ({ dev }: Stack): Promise<void> => {
  const sql = postgres(dev.database_url, { max: 1, onnotice: () => {} })
  try {
    await sql`update transactions set created_at = created_at - ago, broadcast_at = broadcast_at - ago, settled_at = settled_at - ago
      from (select id as moved, make_interval(secs => random() * ${SPREAD_SECONDS}) as ago from transactions) by
      where id = moved and settled_at is not null`
  } finally {
    await sql.end()
  }
}

const newPage = async (browser: Browser): Promise<Page> => {
  const options = {
    viewport: { width: 1440, height: 900 },
    colorScheme: 'light',
    locale: 'en-GB',
    timezoneId: 'UTC',
  } as const
  const context = await browser.newContext(options)
  return context.newPage()
}

const take = async (page: Page, name: string): Promise<void> => {
  const path = join(ROOT, 'docs/pictures', `${name}.png`)
  await page.screenshot({ path, fullPage: true })
  console.log(path)
}

const takeOverview = async (browser: Browser, stack: Stack): Promise<void> => {
  const page = await newPage(browser)
  await page.goto(stack.consoleLink)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const isComplete = async () => {
    await page.reload()
    const isEachNodeKnown = (await page.getByText('none here').count()) === 0
    return isEachNodeKnown && (await page.locator('#late tbody tr').count()) === LATE.length
  }
  await until(isComplete, (is) => is, LATE_MS)
  await take(page, 'console')
}

const takeConsent = async (browser: Browser, stack: Stack): Promise<void> => {
  const project = await createProject(stack, 'Harbour Rentals')
  const story = storyOf({ ...stack.dev, ...project })
  const email = 'ada@example.com'
  const ada = textAt(await story.post('/users/login-with-email', { email }), 'user_id')
  const policy = {
    network: 'Ethereum',
    name: 'Monthly rent',
    wallet_address: await newWallet(story, 'Ethereum', ada),
    argument_rules: [
      { argument: 'to', operator: 'eq', value: await story.walletOfProject('Ethereum') },
      { argument: 'value', operator: 'le', value: '50000000000000000' },
    ],
    max_uses: 12,
    max_total_value: '500000000000000000',
    max_total_fee: '20000000000000000',
    expires_at: new Date(Date.now() + 365 * 24 * 3_600_000).toISOString(),
  }
  const page = await newPage(browser)
  const asked = Buffer.from(JSON.stringify(policy)).toString('base64url')
  await page.goto(
    `${stack.dev.base_url}/consent?${new URLSearchParams({ project_id: project.project_id, policy: asked })}`,
  )
  await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('button', { name: 'Mail me a code' }).click()
  await page.locator('#code').waitFor()
  const readCode = async () => {
    const mails = (await (await fetch(`${stack.dev.base_url}/dev/mailbox.json`)).json()) as readonly { text: string }[]
    return mails.flatMap(({ text }) => /^ {4}([0-9]{6})$/m.exec(text)?.[1] ?? [])
  }
  // The second one: the first mail came with the user's first login, above.
  const [code = ''] = await until(readCode, (codes) => codes.length === 2)
  await page.getByLabel('Code', { exact: true }).fill(code)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await page.locator('#consent').waitFor()
  await take(page, 'consent')
}

await mkdir(join(ROOT, 'docs/pictures'), { recursive: true })
const folder = await mkdtemp(join(tmpdir(), 'strongroom-pictures-'))
let stack: Awaited<ReturnType<typeof startStack>> | undefined
const browser = await startChromium()
try {
  stack = await startStack(folder)
  await takeConsent(browser, stack)
  await work(storyOf(stack.dev), stack.dev)
  await spreadTimes(stack)
  await takeOverview(browser, stack)
} finally {
  await browser.close()
  await stack?.process.stop(30_000)
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}

// The set-up for tests of the login page and its siblings: the service, a worker for its mail, Chromium, and a small
// app of a project.

import { expect } from 'bun:test'
import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, BrowserContext, CDPSession, Page, Request } from 'playwright-core'
import postgres from 'postgres'
import type { PrivateKeyAccount } from 'viem'
import { freePort } from '../../devnet/port.ts'
import { createApp } from '../../src/api/app.ts'
import { addOrigins } from '../../src/identity/projects/settings.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { listen } from '../../src/platform/http/listen.ts'
import { accessibilityProblemsOn, startChromium } from '../support/chromium.ts'
import { startService } from '../support/service.ts'
import { startWorkerHere } from '../support/worker-here.ts'
import { sealSessions } from '../users/own-rows.ts'

const WAIT_MS = 10_000

/** Repeats a query until it has a result. */
export const until = async <Found>(what: string, look: () => Promise<Found | null | undefined>): Promise<Found> => {
  const deadline = Date.now() + WAIT_MS
  for (;;) {
    const found = await look()
    if (found !== null && found !== undefined) return found
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`)
    await sleep(30)
  }
}

/** What the app keeps to itself (PKCE). */
const VERIFIER = 'the-secret-of-the-app-43-characters-or-more'
export const PKCE = {
  code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
  code_challenge_method: 'S256',
}

/** The app's page: it exchanges its code for a session, and calls the API with it, from its own origin. */
const appPage = (api: string, projectId: string): string => `<!doctype html><title>App</title><p id="told"></p><script>
  const handed = new URLSearchParams(location.hash.slice(1))
  const headers = { 'content-type': 'application/json', 'x-walletkit-project-id': '${projectId}' }
  const exchange = async () => {
    history.replaceState(null, '', location.pathname)
    const body = JSON.stringify({ session_challenge_code: handed.get('session_challenge_code'), code_verifier: '${VERIFIER}' })
    const answer = await fetch('${api}/users/verify-login', { method: 'POST', headers, body })
    const session = await answer.json()
    const bearer = { ...headers, authorization: 'Bearer ' + session.access_token }
    const passkeys = await fetch('${api}/users/passkeys', { headers: bearer })
    const told = { state: handed.get('state'), status: answer.status, user: session.user_id, passkeys: await passkeys.json() }
    document.getElementById('told').textContent = JSON.stringify(told)
  }
  if (handed.has('session_challenge_code')) exchange()
</script>`

const startApp = (api: string, projectId: string) => {
  const addresses: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => {
      addresses.push(request.url)
      return new Response(appPage(api, projectId), { headers: { 'content-type': 'text/html' } })
    },
  })
  return { origin: `http://localhost:${server.port}`, addresses, stop: () => server.stop(true) }
}

export const startLoginWorld = async (
  input: Pick<Parameters<typeof startService>[0] & object, 'rpcUrls' | 'variables'> = {},
) => {
  const browser: Browser = await startChromium()
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const service = await startService({ ...input, port, variables: { PUBLIC_BASE_URL: origin, ...input.variables } })
  const { projectId } = service.project
  const worker = await startWorkerHere(service)
  const sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
  const app = startApp(origin, projectId)
  await addOrigins(service.ctx, { projectId, origins: [app.origin] })
  const contexts = new Set<BrowserContext>()

  /** A new person with a new browser. */
  const newPage = async (options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> => {
    const context = await browser.newContext(options)
    contexts.add(context)
    context.setDefaultTimeout(WAIT_MS)
    return context.newPage()
  }

  const addressOf = (query: Readonly<Record<string, string>> = {}, at = origin): string =>
    `${at}/login?${new URLSearchParams({ project_id: projectId, ...(query.redirect_uri && PKCE), ...query })}`

  const openLogin = async (query: Readonly<Record<string, string>> = {}, page?: Page): Promise<Page> => {
    const opened = page ?? (await newPage())
    await opened.goto(addressOf(query))
    await opened.locator('#ways').waitFor()
    return opened
  }

  /** The newest mail to an address, from the JSON of the mailbox page. */
  const mailTo = (recipient: string, holding: RegExp): Promise<string> =>
    until(`a mail to ${recipient}`, async () => {
      const mails = (await service.get('/dev/mailbox.json')).json as { recipient: string; text: string }[]
      return mails.find((mail) => mail.recipient === recipient && holding.test(mail.text))?.text.match(holding)?.[1]
    })

  const codeTo = (recipient: string): Promise<string> => mailTo(recipient, /^ {4}([0-9]{6})$/m)

  const askForCode = async (page: Page, email: string): Promise<string> => {
    await page.getByLabel('E-mail address').fill(email)
    await page.getByRole('button', { name: 'Mail me a code' }).click()
    await page.locator('#code').waitFor()
    return codeTo(email)
  }

  const logInByCode = async (page: Page, email: string): Promise<void> => {
    await page.getByLabel('Code', { exact: true }).fill(await askForCode(page, email))
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
  }

  /** Another API process of the service, at another address and not for development: it allows no other local pages. */
  const startStrict = async () => {
    const strictPort = await freePort()
    const strictOrigin = `http://localhost:${strictPort}`
    const variables = { ...service.variables, DEVNET: 'false', PUBLIC_BASE_URL: strictOrigin }
    const ctx = await createApiCtx({ config: readConfig(variables), process: 'test' })
    const server = listen({ fetch: createApp(ctx).fetch, hostname: '127.0.0.1', port: strictPort, log: ctx.log })
    const close = async () => {
      await server.stop(true)
      await ctx.close({ timeoutSeconds: 5 })
    }
    return { origin: strictOrigin, close }
  }

  /** Sets the answer to the page's next request for its challenge. */
  const nextLook = async (page: Page): Promise<{ readonly completed: boolean; readonly expired: boolean }> => {
    const request = await page.waitForRequest('**/users/session-challenge?*')
    const answer = await (await request.response())?.json()
    return { completed: answer?.completed, expired: answer?.expired }
  }

  /** How each session of a user began, and why it ended. */
  const sessionsOf = async (userId: string): Promise<string[]> => {
    const rows = await sql`select way, ended_by from sessions where user_id = ${userId} order by created_at`
    return rows.map(({ way, ended_by }) => `${way} ${ended_by}`)
  }

  const userIdOf = async (email: string): Promise<string> =>
    (await sql`select id from users where email = ${email}`)[0]?.id

  /** Moves the login of a user's sessions into the past. */
  const ageLogins = async (userId: string, minutes: number): Promise<void> => {
    // At once, as a page that still reads would be logged out by a row without its MAC.
    await sql.begin(async (tx) => {
      await tx`update sessions set authenticated_at = authenticated_at - make_interval(mins => ${minutes})
        where user_id = ${userId}`
      await sealSessions(service, tx)
    })
  }

  const endSessions = async (): Promise<void> => {
    await sql`update sessions set ended_at = now(), ended_by = 'logout' where ended_at is null`
  }

  return {
    service,
    endSessions,
    sessionsOf,
    userIdOf,
    ageLogins,
    nextLook,
    startStrict,
    origin,
    app,
    projectId,
    newPage,
    addressOf,
    openLogin,
    mailTo,
    codeTo,
    askForCode,
    logInByCode,
    close: async () => {
      for (const context of contexts) await context.close()
      await browser.close()
      app.stop()
      await sql.end()
      await worker.stop()
      await service.close()
    },
  }
}

export type LoginWorld = Awaited<ReturnType<typeof startLoginWorld>>

export const newAddress = (): string => `${randomUUID()}@example.com`

/** The error message on the page, or an empty text. */
export const problemOn = async (page: Page): Promise<string> =>
  until('a problem to be told', async () => (await page.locator('#problem').textContent()) || null)

/** A virtual authenticator that always confirms the user. */
export const giveAuthenticator = async (
  page: Page,
  more: { readonly hasPrf?: boolean } = {},
): Promise<{ readonly session: CDPSession; readonly id: string }> => {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const { authenticatorId: id } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      ctap2Version: 'ctap2_1',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
      ...more,
    },
  })
  return { session, id }
}

/**
 * Lets pages get what a password manager answers in the browser's place: a plain object with views of its bytes, or one
 * that has only the prototype of the browser's class, so that `toJSON` and each getter that it leaves to the prototype
 * throw. Before the page opens.
 */
export const bePasswordManager = (page: Page, kind: 'plain' | 'prototype'): Promise<unknown> =>
  page.addInitScript((kind) => {
    const isPlain = kind === 'plain'
    const answer = (prototype: object, fields: Readonly<Record<string, unknown>>) => {
      const made: object = Object.create(isPlain ? Object.prototype : prototype)
      for (const [name, value] of Object.entries(fields)) {
        const own = isPlain && value instanceof ArrayBuffer ? new Uint8Array(value) : value
        Object.defineProperty(made, name, { value: own, enumerable: true })
      }
      return made
    }
    const credentialWith = (real: PublicKeyCredential, response: object) =>
      answer(PublicKeyCredential.prototype, {
        id: real.id,
        rawId: real.rawId,
        type: real.type,
        response,
        getClientExtensionResults: () => real.getClientExtensionResults(),
      })
    const { credentials } = navigator
    const [create, get] = [credentials.create.bind(credentials), credentials.get.bind(credentials)]
    Object.assign(credentials, {
      create: async (options: CredentialCreationOptions) => {
        const real = (await create(options)) as PublicKeyCredential
        const { clientDataJSON, attestationObject } = real.response as AuthenticatorAttestationResponse
        const fields = { clientDataJSON, attestationObject, getTransports: () => ['internal', 'Vault2'] }
        return credentialWith(real, answer(AuthenticatorAttestationResponse.prototype, fields))
      },
      get: async (options: CredentialRequestOptions) => {
        const real = (await get(options)) as PublicKeyCredential
        const { clientDataJSON, authenticatorData, signature, userHandle } =
          real.response as AuthenticatorAssertionResponse
        const fields = { clientDataJSON, authenticatorData, signature, userHandle }
        return credentialWith(real, answer(AuthenticatorAssertionResponse.prototype, fields))
      },
    })
  }, kind)

/**
 * A browser wallet (EIP-1193) with one key, which gives its address in lower case, as some wallets do.
 * @param input.name announces it by EIP-6963 alone; otherwise it is `window.ethereum`.
 */
export const giveWallet = async (
  page: Page,
  account: PrivateKeyAccount,
  input: { readonly name?: string } = {},
): Promise<string[]> => {
  const signed: string[] = []
  const ask = `ask${account.address}`
  await page.exposeFunction(ask, async ({ method, params = [] }: { method: string; params?: string[] }) => {
    switch (method) {
      case 'eth_requestAccounts':
        return [account.address.toLowerCase()]
      case 'eth_chainId':
        return '0xaa36a7'
      case 'personal_sign': {
        const raw = params[0] as `0x${string}`
        signed.push(Buffer.from(raw.slice(2), 'hex').toString())
        return account.signMessage({ message: { raw } })
      }
      default:
        throw new Error(`the wallet knows no ${method}`)
    }
  })
  const how = { ask, ...input }
  await page.addInitScript(({ ask, name }) => {
    const provider = { request: (call: object) => Reflect.get(window, ask)(call) }
    if (name === undefined) {
      Object.assign(window, { ethereum: provider })
      return
    }
    const info = { uuid: crypto.randomUUID(), name, icon: 'data:,', rdns: 'example.wallet' }
    const announce = () =>
      dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }))
    addEventListener('eip6963:requestProvider', announce)
    announce()
  }, how)
  return signed
}

/** Delays the next proof that a page sends. */
export const interceptProof = async (page: Page, press: () => Promise<void>): Promise<Record<string, unknown>> => {
  const path = '**/users/verify-login'
  const caught = new Promise<Request>((resolve) => {
    void page.route(path, async (route) => {
      resolve(route.request())
      await route.abort()
    })
  })
  await press()
  const request = await caught
  await page.unroute(path)
  return request.postDataJSON()
}

/** A page as it is now, at a desk and on a phone, in light and dark: it has no accessibility problems, and it fits. */
export const checkLooks = async (on: Page): Promise<void> => {
  for (const width of [1_280, 390]) {
    await on.setViewportSize({ width, height: 844 })
    for (const colorScheme of ['light', 'dark'] as const) {
      await on.emulateMedia({ colorScheme })
      expect(await accessibilityProblemsOn(on)).toEqual([])
    }
    expect(await on.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
  }
}

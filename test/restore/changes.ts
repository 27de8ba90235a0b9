// What happens after the time to which a database goes back, and what must be true of it at the end.

import { expect } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { type Address, type Hex, parseAbi } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { newApprover } from '../approvals/approver.ts'
import type { TestChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import type { Service } from '../support/service.ts'

export const network = 'Ethereum'
export const PIN = '493817'

const SECRET = 'testnet-secret'
const NEW_PIN = '927461'
const ERC721 = parseAbi(['function balanceOf(address owner) view returns (uint256)'])

const by = { network, developer_secret: SECRET }
const both = { developer_secret: SECRET, user_pin: PIN }

type Ground = { readonly api: Service; readonly chain: TestChain }

/** Something of before the backup, what happens to it, and how it must be at the end. */
type Change = { readonly happen: () => Promise<unknown>; readonly check: () => Promise<void> }

export const codeOf = ({ status, json }: { readonly status: number; readonly json: { readonly code?: string } }) =>
  status === 200 ? 'done' : json.code

export const randomAddress = (): Hex => `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(20))).toString('hex')}`

/** A request for a transaction that can be repeated. @returns its id. */
export const request = (api: Service, path: string, body: object): (() => Promise<string>) => {
  const key = { 'idempotency-key': randomUUID() }
  return async () => {
    const { status, json } = await api.post(path, body, key)
    expect([status, json.code]).toEqual([200, undefined])
    return json.transaction_id
  }
}

export const signMessage = (api: Service, address: string, user_pin: string) =>
  api.post('/transactions/sign-message', { network, signer_wallet_address: address, message: 'It is here.', user_pin })

const ofPin = (api: Service) => api.newWallet({ network, pin: PIN, ownerId: randomUUID() })

const newPolicy = async (api: Service, wallet_address: string): Promise<string> => {
  const rules = [{ argument: 'value', operator: 'le', value: '7' }]
  // Its counts come back, too: otherwise what was spent would not be as it was written.
  const rolling = { rolling_limits: [{ per_seconds: 86_400, max_uses: 3 }] }
  const made = await api.post('/policies', {
    network,
    wallet_address,
    argument_rules: rules,
    max_uses: 3,
    ...rolling,
    ...both,
  })
  expect(codeOf(made)).toBe('done')
  return made.json.uuid
}

const policies = async ({ api, chain }: Ground): Promise<Change> => {
  const [used, revoked, later] = await Promise.all([ofPin(api), ofPin(api), ofPin(api)])
  for (const { address } of [used, revoked, later]) await chain.fund(address)
  const pay = async ({ address }: { readonly address: string }) => {
    const unsigned_transaction = { to: randomAddress(), value: '7' }
    const body = { ...by, signer_wallet_address: address, unsigned_transaction }
    return codeOf(await api.post('/transactions/sign-and-send', body))
  }
  await newPolicy(api, used.address)
  const id = await newPolicy(api, revoked.address)
  expect(await pay(used)).toBe('done')
  return {
    happen: async () => {
      expect([await pay(used), await pay(used)]).toEqual(['done', 'done'])
      expect(codeOf(await api.post('/policies/revoke', { uuid: id, user_pin: PIN }))).toBe('done')
      await newPolicy(api, later.address)
    },
    check: async () => {
      expect([await pay(used), await pay(revoked), await pay(later)]).toEqual([
        ...['policy_denied', 'credential_required', 'done'],
      ])
    },
  }
}

/** Two payments were approved and one is made. The API then forgets that, and the vault does not. */
const approvals = async ({ api, chain }: Ground): Promise<Change> => {
  const approver = await newApprover(api)
  const { address } = await api.newWallet({ network, ownerId: randomUUID() })
  await chain.fund(address)
  const argument_rules = [{ argument: 'value', operator: 'le', value: '7' }]
  const require_approval = { of: 1, from: [approver.id] }
  expect(
    codeOf(await api.post('/policies', { ...by, wallet_address: address, argument_rules, require_approval })),
  ).toBe('done')
  expect(codeOf(await api.post('/wallets/put-under-policies', { ...by, address }))).toBe('done')
  const pay = (to: Hex, approval_id?: string) => {
    const body = { ...by, signer_wallet_address: address, unsigned_transaction: { to, value: '7' } }
    return api.post('/transactions/sign-and-send', { ...body, ...(approval_id === undefined ? {} : { approval_id }) })
  }
  const approved = async () => {
    const to = randomAddress()
    const { approval_id } = (await pay(to)).json
    expect(codeOf(await approver.decide(approval_id))).toBe('done')
    return { to, id: approval_id as string }
  }
  const [used, unused] = [await approved(), await approved()]
  const statusOf = async ({ id }: typeof used) =>
    (await api.get('/approvals')).json.find((each: { approval_id: string }) => each.approval_id === id)?.status
  const sent: string[] = []
  const use = async ({ to, id }: typeof used) => {
    const answer = await pay(to, id)
    if (answer.status === 200) sent.push(answer.json.transaction_id)
    return codeOf(answer)
  }
  return {
    happen: async () => {
      expect([await use(used), await statusOf(used)]).toEqual(['done', 'used'])
    },
    check: async () => {
      expect(await statusOf(used)).toBe('granted')
      expect([await use(used), await use(unused)]).toEqual(['approval_ended', 'done'])
      for (const id of sent) expect((await api.settled(id)).json).toMatchObject({ status: 'success' })
      for (const { to } of [used, unused]) expect(await chain.publicClient.getBalance({ address: to })).toBe(7n)
    },
  }
}

const changedPin = async ({ api }: Ground): Promise<Change> => {
  const { address } = await ofPin(api)
  return {
    happen: async () => {
      const body = { network, address, old_user_pin: PIN, new_user_pin: NEW_PIN }
      expect(codeOf(await api.post('/wallets/change-user-pin', body))).toBe('done')
    },
    check: async () => {
      expect(codeOf(await signMessage(api, address, PIN))).toBe('INVALID_SECRET')
      expect(codeOf(await signMessage(api, address, NEW_PIN))).toBe('done')
    },
  }
}

const recoveryCodes = async ({ api }: Ground): Promise<Change> => {
  const [replaced, removed, later] = [await ofPin(api), await ofPin(api), await ofPin(api)]
  type Wallet = typeof replaced
  const newCode = async ({ address }: Wallet): Promise<string> =>
    (await api.post('/wallets/recovery-code', { network, address, user_pin: PIN })).json.recovery_code
  const opens = async ({ address }: Wallet, user_secret: string) =>
    codeOf(await api.post('/wallets/export', { network, address, user_secret }))
  const [old, gone] = [await newCode(replaced), await newCode(removed)]
  let made: readonly string[] = []
  return {
    happen: async () => {
      made = [await newCode(replaced), await newCode(later)]
      const removal = { network, address: removed.address, user_pin: PIN }
      expect(codeOf(await api.post('/wallets/recovery-code/remove', removal))).toBe('done')
    },
    check: async () => {
      const [ofReplaced = '', ofLater = ''] = made
      expect([await opens(replaced, ofReplaced), await opens(later, ofLater)]).toEqual(['done', 'done'])
      const wrong = [await opens(replaced, old), await opens(removed, gone)]
      expect(wrong).toEqual(['INVALID_SECRET', 'INVALID_SECRET'])
    },
  }
}

const sharedControl = async ({ api }: Ground): Promise<Change> => {
  const { address, owner_id } = await ofPin(api)
  const exported = async (credentials: object) =>
    codeOf(await api.post('/wallets/export', { network, address, ...credentials }))
  return {
    happen: async () => {
      const other = { network: 'Base', name: 'B', owner_id, control_mode: 'developer', ...both }
      expect(codeOf(await api.post('/wallets', other))).toBe('done')
    },
    check: async () => {
      expect(await exported({ user_pin: PIN })).toBe('credential_required')
      expect(await exported(both)).toBe('done')
    },
  }
}

const collection = async ({ api, chain }: Ground): Promise<Change> => {
  const { address: from } = await api.newWallet({ network })
  await chain.fund(from)
  const image_url = 'https://example.com/i.png'
  const create = request(api, '/nfts/collections', { ...by, from, name: 'Later', symbol: 'LTR', image_url })
  return {
    happen: create,
    check: async () => {
      const { json } = await api.settled(await create())
      expect(json).toMatchObject({ status: 'success' })
      const query = { network, contract_address: json.contract_address }
      expect((await api.get('/nfts/collection-by-address', query)).json).toMatchObject({ name: 'Later' })
    },
  }
}

const token = async ({ api, chain }: Ground): Promise<Change> => {
  const { address: from } = await api.newWallet({ network })
  await chain.fund(from)
  const logo_url = 'https://example.com/t.png'
  const wanted = { ...by, from, name: 'Later', symbol: 'LTR', decimals: '6', initial_supply: '1.5', logo_url }
  const create = request(api, '/tokens', wanted)
  return {
    happen: create,
    check: async () => {
      const { json } = await api.settled(await create())
      expect(json).toMatchObject({ status: 'success' })
      const query = { network, token: json.contract_address }
      expect((await api.get('/tokens/tokens', query)).json).toMatchObject({ name: 'Later', logo_url })
    },
  }
}

/** Each has a document beside it, and a token's number that depends on those before it. */
const mints = async ({ api, chain }: Ground): Promise<Change> => {
  const { address: from } = await api.newWallet({ network })
  await chain.fund(from)
  const { address } = await chain.deploy('WizardCollection', ['Doors', 'DOOR', from])
  const recipients = [randomAddress(), randomAddress(), randomAddress()]
  const metadataOf = (name: string) => ({ name, description: '', image: 'https://example.com/d.png' })
  const each = recipients.map((recipient) => {
    const metadata = metadataOf(recipient)
    return request(api, '/nfts/mint', { ...by, from, contract_address: address, recipient, metadata })
  })
  let minted: readonly string[] = []
  return {
    happen: async () => {
      minted = await Promise.all(each.map((mint) => mint()))
    },
    check: async () => {
      expect(await Promise.all(each.map((mint) => mint()))).toEqual([...minted])
      for (const id of minted) expect((await api.settled(id)).json).toMatchObject({ status: 'success' })
      for (const recipient of recipients) {
        const args = [recipient] as const
        const read = { address, abi: ERC721, functionName: 'balanceOf', args } as const
        expect(await chain.publicClient.readContract(read)).toBe(1n)
        const document = metadataOf(recipient)
        const digest = new Bun.CryptoHasher('sha256').update(JSON.stringify(document)).digest('hex')
        expect((await api.get(`/metadata/${digest}.json`)).json).toEqual(document)
      }
    },
  }
}

/** The first one of a contract wallet: two transactions are signed and recorded together. */
const batch = async ({ api, chain }: Ground): Promise<Change> => {
  const private_key = generatePrivateKey()
  const wanted = { ...by, type: 'contract', name: 'A Safe', control_mode: 'developer', private_key }
  const { json: safe } = await api.post('/wallets/import', wanted)
  await chain.fund(privateKeyToAddress(private_key))
  await chain.fund(safe.address as Address)
  const recipients = [randomAddress(), randomAddress()]
  const unsigned_transactions = recipients.map((to) => ({ to, value: '7' }))
  const body = { ...by, signer_wallet_address: safe.address, unsigned_transactions }
  const send = request(api, '/transactions/batch-sign-and-send', body)
  let sent = ''
  return {
    happen: async () => {
      sent = await send()
    },
    check: async () => {
      expect(await send()).toBe(sent)
      expect((await api.settled(sent)).json).toMatchObject({ status: 'success' })
      for (const address of recipients) expect(await chain.publicClient.getBalance({ address })).toBe(7n)
    },
  }
}

const succeeds = async ({ api }: Ground, ...command: readonly string[]): Promise<string> => {
  const { exitCode, output, errors } = await runCli(command, api.variables)
  if (exitCode !== 0) throw new Error(errors)
  return output
}

/** The contracts to which wallets may delegate. */
const delegates = async (ground: Ground): Promise<Change> => {
  const { address } = await ofPin(ground.api)
  const [removed, added] = [randomAddress(), randomAddress()]
  const change = (is: 'add' | 'remove', delegate: Hex) =>
    succeeds(ground, 'project', 'delegates', is, ground.api.project.projectId, network, delegate)
  const sign = async (contract_address: Hex) => {
    const body = { network, signer_wallet_address: address, authorization: { contract_address, nonce: '0' } }
    return codeOf(await ground.api.post('/transactions/sign-authorization', { ...body, user_pin: PIN }))
  }
  await change('add', removed)
  return {
    happen: async () => {
      await change('remove', removed)
      await change('add', added)
    },
    check: async () => {
      expect([await sign(removed), await sign(added)]).toEqual(['delegate_not_allowed', 'done'])
    },
  }
}

const freezes = async (ground: Ground): Promise<Change> => {
  const [released, frozen] = await Promise.all([ofPin(ground.api), ofPin(ground.api)])
  const idOf = async ({ address }: { readonly address: string }) =>
    (await ground.api.get('/wallets/get-by-address', { network, address })).json.id
  const [releasedId, frozenId] = await Promise.all([idOf(released), idOf(frozen)])
  await succeeds(ground, 'freeze', 'wallet', releasedId, '--reason', 'a test')
  return {
    happen: async () => {
      await succeeds(ground, 'unfreeze', 'wallet', releasedId)
      await succeeds(ground, 'freeze', 'wallet', frozenId, '--reason', 'a test')
    },
    check: async () => {
      const sign = async ({ address }: { readonly address: string }) =>
        codeOf(await signMessage(ground.api, address, PIN))
      expect([await sign(released), await sign(frozen)]).toEqual(['done', 'frozen'])
    },
  }
}

/** The wallets that are made after it are sealed under another key of the project than those before. */
const projectKey = async (ground: Ground): Promise<Change> => {
  const { projectId } = ground.api.project
  const before = await ofPin(ground.api)
  return {
    happen: () => succeeds(ground, 'keys', 'rotate-project', projectId),
    check: async () => {
      expect(codeOf(await signMessage(ground.api, before.address, PIN))).toBe('done')
      const finished = await succeeds(ground, 'keys', 'rotate-project', projectId, '--resume')
      expect(finished).toContain('version 2')
      expect(codeOf(await signMessage(ground.api, before.address, PIN))).toBe('done')
    },
  }
}

/**
 * The database belongs to the former root key again, and the keys of projects that were made since are wrapped by the
 * other one.
 */
const rootKey = async (ground: Ground): Promise<Change> => {
  const rotate = () => succeeds(ground, 'keys', 'rotate-root', '--yes')
  return {
    happen: rotate,
    check: async () => expect(await rotate()).toContain('belongs to'),
  }
}

const project = async (ground: Ground): Promise<Change> => {
  const { api } = ground
  let made = { project_id: '', api_key: '' }
  return {
    happen: async () => {
      made = JSON.parse(await succeeds(ground, 'project', 'create', '--name', 'Later', '--json'))
    },
    check: async () => {
      // Its first API key is gone, and everything that the vault had of it is there.
      const { project_id: projectId, api_key: apiKey } = made
      const withOld = await api.as({ projectId, apiKey }).get('/wallets/get-by-id', { network, id: projectId })
      expect(withOld.status).toBe(401)
      const key = await succeeds(ground, 'api-key', 'create', '--project', projectId, '--name', 'n', '--json')
      const again = api.as({ projectId, apiKey: JSON.parse(key).api_key })
      expect((await again.newWallet({ network })).address).toMatch(/^0x/)
    },
  }
}

/** In the order in which they happen and are checked. */
export const prepareChanges = async (ground: Ground): Promise<Change> => {
  const changes: Change[] = []
  for (const prepare of [
    changedPin,
    recoveryCodes,
    sharedControl,
    delegates,
    freezes,
    projectKey,
    policies,
    approvals,
    collection,
    token,
    mints,
    batch,
    rootKey,
    project,
  ])
    changes.push(await prepare(ground))
  return {
    happen: async () => {
      for (const { happen } of changes) await happen()
    },
    check: async () => {
      for (const { check } of changes) await check()
    },
  }
}

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { exitCodeOf, runCli } from '../support/cli.ts'
import { someOf } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const STILL_SENT =
  'From the next request on, it cannot sign, and no wallet of it can be created, exported or changed. Transactions that are already recorded are still sent.'

const service = await shared(startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } }))

/** With what an API has: an operator who stops the use of keys need not be on the vault's machine. */
const cli = (...args: readonly string[]) => runCli(args, service.variables)

const sign = async (wallet: { readonly address: string }) =>
  service.post('/transactions/sign', {
    network: 'Ethereum',
    signer_wallet_address: wallet.address,
    developer_secret: 'testnet-secret',
    unsigned_transaction: {
      to: wallet.address,
      value: '1',
      nonce: '0',
      gasLimit: '21000',
      maxFeePerGas: '2',
      maxPriorityFeePerGas: '1',
    },
  })

describe('freeze and unfreeze', () => {
  test('take effect in the running service at once, and say what they stop and what they do not', async () => {
    const wallet = await service.newWallet({ network: 'Ethereum', ownerId: 'somebody' })
    const { projectId } = service.project
    const things = [
      [['project', projectId], `project ${projectId}`],
      [['owner', projectId, 'somebody'], `owner somebody of project ${projectId}`],
      [['wallet', wallet.id.toUpperCase()], `wallet ${wallet.id}`],
      [['network', 'Ethereum'], 'network Ethereum'],
    ] as const
    for (const [thing, name] of someOf(things, 2)) {
      expect((await sign(wallet)).status).toBe(200)
      const frozen = await cli('freeze', ...thing, '--reason', 'stolen laptop')
      expect({ exitCode: frozen.exitCode, errors: frozen.errors }).toEqual({ exitCode: 0, errors: '' })
      expect(frozen.output.split('\n')[0]).toBe(`Frozen: ${name}. ${STILL_SENT}`)
      expect(frozen.output.includes('freeze the owner')).toBe(thing[0] === 'wallet')
      expect((await sign(wallet)).json.code).toBe('frozen')
      expect((await cli('freeze', ...thing, '--reason', 'again')).output).toBe(`Already frozen: ${name}.\n`)
      expect((await cli('unfreeze', ...thing)).output).toBe(`Released: ${name}.\n`)
      expect((await cli('unfreeze', ...thing, '--reason', 'x')).output).toBe(`Not frozen: ${name}.\n`)
    }
    expect((await sign(wallet)).status).toBe(200)
  }, 240_000)

  test('list what is frozen, with the reason', async () => {
    const wallet = await service.newWallet({ network: 'Ethereum', ownerId: 'another' })
    const { projectId } = service.project
    expect((await cli('freeze', 'list')).output).toBe('Nothing is frozen.\n')
    await cli('freeze', 'owner', projectId, 'another', '--reason', 'asked for it')
    await cli('freeze', 'wallet', wallet.id, '--reason', 'too')
    await cli('freeze', 'network', 'Polygon', '--reason', 'node is strange')
    const { output } = await cli('freeze', 'list', '--json')
    const nothing = { project_id: null, owner_id: null, wallet_id: null, network: null, created_at: expect.any(String) }
    expect(JSON.parse(output)).toEqual([
      { ...nothing, scope: 'owner', project_id: projectId, owner_id: 'another', reason: 'asked for it' },
      { ...nothing, scope: 'wallet', project_id: projectId, wallet_id: wallet.id, reason: 'too' },
      { ...nothing, scope: 'network', network: 'Polygon', reason: 'node is strange' },
    ])
    const lines = (await cli('freeze', 'list')).output.trim().split('\n')
    expect(lines.map((line) => line.replace(/^\S+ {2}/, ''))).toEqual([
      `owner another of project ${projectId}: asked for it`,
      `wallet ${wallet.id} of project ${projectId}: too`,
      'network Polygon: node is strange',
    ])
  }, 120_000)

  test.each([
    [['freeze'], 'Usage: strongroom freeze'],
    [['freeze', 'project', 'x', '--reason', 'r'], 'It must be a UUID.'],
    [['freeze', 'project', randomUUID(), '--reason', 'r'], 'There is no such project.'],
    [['freeze', 'wallet', randomUUID(), '--reason', 'r'], 'There is no wallet with this id.'],
    [['freeze', 'wallet', randomUUID()], "required option '--reason <text>'"],
    [['freeze', 'network', 'ethereum', '--reason', 'r'], 'It must be one of Ethereum, Polygon'],
    [['freeze', 'everything', '--reason', 'r'], "unknown command 'everything'"],
    [['unfreeze', 'owner', randomUUID(), 'o'], 'This project has no such owner.'],
  ])('%p is refused', async (args, sentence) => {
    const { exitCode, output, errors } = await cli(...args)
    expect({ exitCode, output }).toEqual({ exitCode: exitCodeOf(errors), output: '' })
    expect(errors).toContain(sentence)
  })

  test('need a vault, which alone writes what is frozen', async () => {
    const { exitCode, errors } = await runCli(['freeze', 'project', service.project.projectId, '--reason', 'r'], {
      ...service.variables,
      VAULT_SOCKET: '',
    })
    expect(errors).toStartWith('VAULT_SOCKET must be the path')
    expect(exitCode).toBe(1)
  })
})

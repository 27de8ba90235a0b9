import { describe, expect, test } from 'bun:test'
import { readConfig, readDatabaseUrl } from '../src/platform/config.ts'

const MAINNET = {
  ENVIRONMENT: 'mainnet',
  DATABASE_URL: 'postgres://api:password@db.example.org/strongroom?sslmode=verify-full',
  SERVICE_KEY: 'file:/keys/service.key',
  PUBLIC_BASE_URL: 'https://wallets.example.org/',
}

const refusalOf = (changes: Record<string, string | undefined>): string => {
  try {
    readConfig({ ...MAINNET, ...changes })
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
  return 'taken'
}

test("a worker serves metrics only at its own address, whatever the API's setting is", () => {
  expect(readConfig({ ...MAINNET, METRICS_PORT: '9100', METRICS_TOKEN: 'a-token-of-some-length' })).toMatchObject({
    metricsListener: { host: '127.0.0.1', port: 9100 },
    workerMetricsListener: null,
  })
  expect(readConfig({ ...MAINNET, WORKER_METRICS_PORT: '9101', METRICS_HOST: '::1' })).toMatchObject({
    metricsListener: null,
    workerMetricsListener: { host: '::1', port: 9101 },
  })
  expect(refusalOf({ WORKER_METRICS_PORT: 'x' })).toBe('WORKER_METRICS_PORT must be a whole number from 0 to 65535.')
})

test('requests to hosts of callers go only to the public Internet and to hosts that are listed', () => {
  const { outgoingHosts } = readConfig({ ...MAINNET, OUTGOING_ALLOWED_HOSTS: '10.1.2.3, fd00::/8 id.internal' })
  expect(['10.1.2.3', 'fd00::5', 'id.internal', '10.1.2.4'].map(outgoingHosts.has)).toEqual([true, true, true, false])
  const right = 'host names, IP addresses and networks, such as id.internal, 10.1.2.3 or fd00::/8, without ports'
  const refusal = `OUTGOING_ALLOWED_HOSTS must be ${right}.`
  expect(refusalOf({ OUTGOING_ALLOWED_HOSTS: 'https://hooks.example.com' })).toBe(refusal)
})

describe('a mainnet deployment sends nothing unencrypted to another machine', () => {
  test('and is accepted if everything is encrypted', () => {
    const config = readConfig({
      ...MAINNET,
      ETHEREUM_RPC_URL: 'https://node.example.org',
      VARA_RPC_URL: 'wss://node.example.org',
    })
    expect(config.publicBaseUrl).toBe('https://wallets.example.org')
    expect(Object.keys(config.rpcUrls)).toEqual(['Ethereum', 'Vara'])
  })

  test('a remote database needs TLS', () => {
    const right = 'DATABASE_URL must be a URL with ?sslmode=verify-full'
    for (const DATABASE_URL of [
      'postgres://a:b@db.example.org/s',
      'postgresql://a:b@10.0.0.5:5432/s',
      'postgres://a:b@db.example.org/s?sslmode=disable',
      'postgres://a:b@db.example.org/s?sslmode=prefer',
      'postgres://a:b@localhost.example.org/s',
      'postgres://a:b@127.0.0.1.example.org/s',
      'postgres://a:b@localhost/s?host=db.example.org',
      'postgres://a:b@[2001:db8::1]/s',
      'postgres://a:b@db.example.org,a.localhost/s',
      'postgres://a:b@%2Fvar%2Frun,db.example.org/s',
      'postgres://a:b@localhost/s?host=localhost,db.example.org',
    ]) {
      expect({ DATABASE_URL, refusal: refusalOf({ DATABASE_URL }) }).toEqual({
        DATABASE_URL,
        refusal: expect.stringContaining(right),
      })
      expect(() => readDatabaseUrl({ ENVIRONMENT: 'mainnet', DATABASE_URL })).toThrow(right)
      expect(readDatabaseUrl({ DATABASE_URL }).reveal()).toBe(DATABASE_URL)
    }
    expect(refusalOf({ DATABASE_URL: 'postgres:///s', PGHOST: 'db.example.org' })).toContain(right)
    expect(refusalOf({ DATABASE_URL: 'postgres://a:hunter2@db.example.org/s' })).not.toContain('hunter2')
  })

  test('the sslmode must be exactly one mode of libpq', () => {
    for (const query of ['sslmode=no-verify', 'sslmode=require&sslmode=disable', 'sslmode=']) {
      const DATABASE_URL = `postgres://a:b@localhost/s?${query}`
      expect(() => readDatabaseUrl({ DATABASE_URL })).toThrow('a URL with at most one sslmode')
    }
    const DATABASE_URL = 'postgres://a:b@localhost/s?sslmode=verify-ca'
    expect(() => readDatabaseUrl({ DATABASE_URL })).toThrow('&sslrootcert=/path')
  })

  test('a local database needs no TLS', () => {
    for (const DATABASE_URL of [
      'postgres://a:b@localhost/s',
      'postgres://a:b@127.0.0.1:5433/s',
      'postgres://a:b@[::1]/s',
      'postgres:///s?host=/var/run/postgresql',
      'postgres:///s',
      'postgres://%2Fvar%2Frun%2Fpostgresql/s',
      'postgres://a:b@db.example.org/s?sslmode=require',
    ]) {
      expect({ DATABASE_URL, refusal: refusalOf({ DATABASE_URL }) }).toEqual({ DATABASE_URL, refusal: 'taken' })
    }
  })

  test('the public URL must be https, and neither local nor private', () => {
    for (const PUBLIC_BASE_URL of [
      undefined,
      'http://wallets.example.org',
      'http://localhost:3000',
      'https://localhost:3000',
      'https://127.0.0.1',
      'https://[::1]:3000',
      'https://localhost./',
      'https://strongroom',
      'https://api.strongroom.internal',
      'https://printer.local',
      'https://0.0.0.0',
      'https://0x7f.1',
      'https://10.1.2.3',
      'https://100.64.0.1',
      'https://169.254.169.254',
      'https://172.31.255.255',
      'https://192.168.1.4:8443/api',
      'https://[::]',
      'https://[::ffff:10.0.0.1]',
      'https://[fd12:3456::1]',
      'https://[fe80::1]',
    ]) {
      expect({ PUBLIC_BASE_URL, refusal: refusalOf({ PUBLIC_BASE_URL }) }).toEqual({
        PUBLIC_BASE_URL,
        refusal: expect.stringContaining('PUBLIC_BASE_URL must be set on mainnet to the https:// URL'),
      })
    }
    for (const PUBLIC_BASE_URL of [
      'https://198.41.0.4',
      'https://172.32.0.1',
      'https://[2606:4700::1]',
      'https://local.example.org',
    ]) {
      expect({ PUBLIC_BASE_URL, refusal: refusalOf({ PUBLIC_BASE_URL }) }).toEqual({
        PUBLIC_BASE_URL,
        refusal: 'taken',
      })
    }
  })

  test('a vault needs no public URL, and every other process does', () => {
    const { PUBLIC_BASE_URL: _, ...withoutUrl } = MAINNET
    expect(readConfig(withoutUrl, 'vault').environment).toBe('mainnet')
    for (const reader of ['api', 'worker', 'command'] as const) {
      expect(() => readConfig(withoutUrl, reader)).toThrow('PUBLIC_BASE_URL must be set on mainnet')
    }
  })

  test('remote nodes of chains and of IPFS need TLS', () => {
    for (const [name, remote, here] of [
      ['ETHEREUM_RPC_URL', 'http://node.example.org:8545', 'http://127.0.0.1:8545'],
      ['AVALANCHE_RPC_URL', 'http://10.0.0.7:9650/ext/bc/C/rpc', 'http://localhost:9650/ext/bc/C/rpc'],
      ['POLKADOT_RPC_URL', 'ws://node.example.org:9944', 'ws://127.0.0.1:9944'],
      ['VARA_RPC_URL', 'http://node.example.org:9944', 'http://[::1]:9944'],
      ['IPFS_API_URL', 'http://user:password@ipfs.example.org:5001', 'http://127.0.0.1:5001'],
    ] as const) {
      expect(refusalOf({ [name]: remote })).toBe(
        `${name} must be a URL with https or wss on mainnet, unless its host is this machine.`,
      )
      expect(refusalOf({ [name]: here })).toBe('taken')
    }
  })

  test('several nodes of a network are checked one by one, and each may be named once', () => {
    const refused = (ETHEREUM_RPC_URL: string) => refusalOf({ ETHEREUM_RPC_URL })
    expect(refused('https://a.example, https://b.example/secret\nhttps://c.example')).toBe('taken')
    expect(refused('https://a.example http://b.example/secret')).toBe(
      'ETHEREUM_RPC_URL must be a URL with https or wss on mainnet, unless its host is this machine.',
    )
    for (const again of [
      'https://a.example',
      'https://A.example:443/',
      'wss://a.example',
      'https://someone@a.example',
    ]) {
      expect({ again, refusal: refused(`https://a.example,${again}`) }).toEqual({
        again,
        refusal: 'ETHEREUM_RPC_URL must be URLs of different nodes: one is there twice.',
      })
    }
    const nine = Array.from({ length: 9 }, (_, index) => `https://node-${index}.example`)
    expect(refused(nine.join(' '))).toBe('ETHEREUM_RPC_URL must be at most 8 URLs.')
  })

  test('on testnet all of this is allowed', () => {
    const config = readConfig({
      ENVIRONMENT: 'testnet',
      DATABASE_URL: 'postgres://a:b@db.example.org/s',
      SERVICE_KEY: 'fd:0',
      ETHEREUM_RPC_URL: 'http://node.example.org',
    })
    expect(config.publicBaseUrl).toBe('http://localhost:3000')
  })
})

test('the users that may connect to a vault are given as numbers', () => {
  expect(readConfig({ ...MAINNET, VAULT_CLIENT_UIDS: '998, 0' })).toMatchObject({ vaultClientUids: [998, 0] })
  expect(readConfig(MAINNET)).toMatchObject({ vaultClientUids: null })
  for (const VAULT_CLIENT_UIDS of ['strongroom-api', '-1', '4294967295', '1.5']) {
    expect(refusalOf({ VAULT_CLIENT_UIDS })).toContain('VAULT_CLIENT_UIDS must be user ids')
  }
})

describe('the vault by TLS', () => {
  const FILES = { VAULT_TLS_CERT_FILE: '/t/own.crt', VAULT_TLS_KEY_FILE: '/t/own.key', VAULT_TLS_CA_FILE: '/t/ca.crt' }
  const files = { certFile: '/t/own.crt', keyFile: '/t/own.key', caFile: '/t/ca.crt' }

  test('a vault that listens needs names of clients', () => {
    const set = { ...FILES, VAULT_LISTEN: '[2001:db8::1]:7443', VAULT_TLS_CLIENTS: 'API-1.internal, api-2' }
    const clients = ['api-1.internal', 'api-2']
    expect(readConfig({ ...MAINNET, ...set })).toMatchObject({
      vaultListen: { host: '2001:db8::1', port: 7443, clients, files },
    })
    const names = 'VAULT_TLS_CLIENTS must have the DNS names'
    expect(refusalOf({ ...set, VAULT_TLS_CLIENTS: '' })).toContain(names)
    expect(refusalOf({ ...set, VAULT_TLS_CLIENTS: '*.internal' })).toContain(names)
    for (const VAULT_LISTEN of ['7443', '10.0.0.1', '10.0.0.1:65536', '2001:db8::1:7443', 'tls://a:1', 'a:1/x']) {
      expect(refusalOf({ ...set, VAULT_LISTEN })).toContain('VAULT_LISTEN must be a host and a port')
    }
    for (const name of Object.keys(FILES)) {
      expect(refusalOf({ ...set, [name]: '' })).toBe(
        `${name} must be the path of a PEM file, because VAULT_LISTEN is set.`,
      )
    }
  })

  test('an API names vaults by path and by TLS', () => {
    const VAULT_SOCKET = '/run/v.sock,tls://vault-1.internal:7443 tls://[2001:db8::1]:7443'
    expect(readConfig({ ...MAINNET, ...FILES, VAULT_SOCKET })).toMatchObject({
      vaultSockets: VAULT_SOCKET.split(/[ ,]/),
      vaultTls: files,
      vaultListen: null,
    })
    expect(refusalOf({ VAULT_SOCKET })).toContain('because VAULT_SOCKET names a vault by TLS')
    for (const wrong of ['tcp://a:1', 'https://a:1', 'tls://a', 'tls://a:b', 'tls://user@a:1', 'tls://a:1/path']) {
      expect(refusalOf({ ...FILES, VAULT_SOCKET: wrong })).toContain('Each of VAULT_SOCKET must be')
    }
  })
})

describe('a variable that nothing reads', () => {
  const unknown = (...names: readonly string[]) =>
    readConfig({ ...MAINNET, ...Object.fromEntries(names.map((name) => [name, 'x'])) }).unknownVariables

  test.each([
    ['a letter too many', 'API_PAGES'],
    ['a letter too many in a short name', 'DEVNETT'],
    ['a letter that lacks', 'SHUTDOWN_GRACE_SECOND'],
    ['a letter that lacks within', 'VAULT_SOKET'],
    ['a letter that lacks in a word', 'METRIC_PORT'],
    ['a wrong letter', 'MAIL_URI'],
    ['two letters that are swapped', 'LOG_LEVLE'],
    ['two mistakes in a long name', 'SHUTDWN_GRACE_SECOND'],
    ['a word that lacks', 'IPFS_URL'],
    ['a last word that lacks', 'POLKADOT_RPC'],
    ['an underscore that lacks', 'LOGLEVEL'],
    ['the beginning of ours', 'DATABASE_POOL'],
    ['the end of a network', 'ETHERUM_RPC_URL'],
  ])('is reported if it has %s', (_what, name) => {
    expect(unknown(name)).toEqual([name])
  })

  test('is not reported if it belongs to the system, systemd, containers or another program', () => {
    const names = `PATH HOME LANG LC_ALL LANGUAGE TZ PWD OLDPWD SHLVL SHELL USER LOGNAME MAIL TERM COLORTERM EDITOR HOSTNAME HOSTTYPE
      TMPDIR DISPLAY XDG_RUNTIME_DIR SSH_CLIENT SSH_CONNECTION SSH_TTY SUDO_USER INVOCATION_ID JOURNAL_STREAM NOTIFY_SOCKET LISTEN_FDS
      LISTEN_PID SYSTEMD_EXEC_PID STATE_DIRECTORY RUNTIME_DIRECTORY CREDENTIALS_DIRECTORY LOGS_DIRECTORY MEMORY_PRESSURE_WATCH
      WATCHDOG_USEC KUBERNETES_SERVICE_HOST KUBERNETES_PORT API_PORT API_PATH API_URL API_KEY API_HOST VAULT_PORT VAULT_SERVICE_HOST
      POSTGRES_PORT POSTGRES_PASSWORD PGPORT PGUSER PGPASSWORD PGDATABASE PGSSLMODE PGDATA NODE_ENV NODE_OPTIONS NODE_PATH
      NODE_EXTRA_CA_CERTS SSL_CERT_FILE BUN_INSTALL BUN_OPTIONS DENO_DIR NPM_TOKEN CI DEBUG NO_COLOR FORCE_COLOR HTTP_PROXY HTTPS_PROXY
      NO_PROXY http_proxy ACCESS_TOKEN AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_REGION AWS_PROFILE
      GOOGLE_APPLICATION_CREDENTIALS VAULT_ADDR VAULT_TOKEN VAULT_TOKEN_FILE VAULT_NAMESPACE VAULT_CACERT IPFS_PATH IPFS_PROFILE MAILTO
      MAILFROM SENTRY_DSN OTEL_SERVICE_NAME RUST_LOG GIT_COMMIT PORTS HOME_URL`
    expect(unknown(...names.split(/\s+/))).toEqual([])
  })
})

// `bun run imports`: which folder imports which, with how many imports, and the packages that each one loads.
// `bun run imports --mermaid` prints a graph for Markdown.

import { type File, readSources } from './support/imports.ts'

/** src/vault/rooms/keys/derive.ts → src/vault; db/client.ts → db. */
const folderOf = (path: string): string => {
  const [first = '', second] = path.split('/')
  return first === 'src' && second !== undefined && !second.endsWith('.ts') ? `src/${second}` : first
}

const isOurs = (name: string): boolean => /^(src|jobs|db|devnet|client)\//.test(name)

/** `@scure/bip32/x` → `@scure/bip32`. */
const packageOf = (name: string): string =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')

const countBy = (names: readonly string[]): readonly (readonly [string, number])[] =>
  [...Map.groupBy(names, (name) => name)]
    .map(([name, all]) => [name, all.length] as const)
    .toSorted(([, one], [, other]) => other - one)

const importsOf = (files: readonly File[], folder: string): readonly string[] =>
  files.flatMap((file) => file.imports.filter(isOurs).map(folderOf)).filter((to) => to !== folder)

const packagesOf = (files: readonly File[]): readonly string[] =>
  [...new Set(files.flatMap((file) => file.imports.filter((name) => !isOurs(name)).map(packageOf)))]
    .filter((name) => !name.startsWith('node:'))
    .toSorted()

const folders = [...Map.groupBy(readSources(), (file) => folderOf(file.path))].toSorted(([one], [other]) =>
  one.localeCompare(other),
)

if (process.argv.includes('--mermaid')) {
  console.log('graph LR')
  for (const [folder, files] of folders) {
    for (const [to] of countBy(importsOf(files, folder))) console.log(`  ${folder} --> ${to}`)
  }
} else {
  for (const [folder, files] of folders) {
    const lines = files.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
    console.log(`${folder}: ${files.length} files, ${lines} lines`)
    const imports = countBy(importsOf(files, folder)).map(([to, count]) => `${to} ${count}`)
    console.log(`  imports   ${imports.join(', ') || 'nothing of ours'}`)
    console.log(`  packages  ${packagesOf(files).join(', ') || 'none'}`)
  }
}

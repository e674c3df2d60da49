/** `stampede completion`: what the shell may offer, made from the commands themselves, so it is never out of date. */

import type { Command } from 'commander'
import { ConfigError } from '../app/config/config.ts'
import { print } from './table.ts'

type Named = Readonly<{ name: string; description: string }>
/** A command by the words that lead to it (none for the program itself), and what may follow. */
type Listed = Readonly<{ path: string; commands: Named[]; options: (Named & { takesValue: boolean })[] }>

const SHELLS: Readonly<Record<string, (listed: readonly Listed[]) => string>> = { bash, zsh, fish }

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print the completion script for a shell')
    .argument('<shell>', Object.keys(SHELLS).join(', '))
    .addHelpText(
      'after',
      '\nbash:  source <(stampede completion bash)\nzsh:   source <(stampede completion zsh)\nfish:  stampede completion fish > ~/.config/fish/completions/stampede.fish',
    )
    .action(async (shell: string) => {
      const write = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined
      if (write === undefined)
        throw new ConfigError(`there is no completion for "${shell}": ask for ${Object.keys(SHELLS).join(', ')}`)
      await print(write(listedIn(program, '')))
    })
}

function listedIn(command: Command, path: string): Listed[] {
  const options = command.options.map(option => ({
    name: option.long ?? option.short ?? '',
    description: option.description,
    takesValue: option.required || option.optional,
  }))
  const help = { name: '--help', description: 'show help', takesValue: false }
  const visible = command.createHelp().visibleCommands(command)
  const commands = visible.map(one => ({ name: one.name(), description: one.description() }))
  const inside = visible.flatMap(one => listedIn(one, `${path} ${one.name()}`.trim()))
  return [{ path, commands, options: [...options, help] }, ...inside]
}

function bash(listed: readonly Listed[]): string {
  const known = listed.filter(one => one.path !== '').map(one => `'${one.path}'`)
  const cases = listed.map(({ path, commands, options }) => {
    const words = [...commands, ...options].map(one => one.name).join(' ')
    return `    '${path}') words='${words}' ;;`
  })
  return `_stampede() {
  local word next path='' words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="\${path:+$path }$word"
    case "$next" in
      ${known.join('|')}) path="$next" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _stampede stampede
`
}

function zsh(listed: readonly Listed[]): string {
  return `autoload -U +X compinit && compinit -C\nautoload -U +X bashcompinit && bashcompinit\n${bash(listed)}`
}

function fish(listed: readonly Listed[]): string {
  const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines = listed.flatMap(({ path, commands, options }) => {
    const words = path === '' ? [] : path.split(' ')
    const inside = [
      ...(words.length === 0 ? ['__fish_use_subcommand'] : words.map(word => `__fish_seen_subcommand_from ${word}`)),
      ...(words.length > 0 && commands.length > 0
        ? [`not __fish_seen_subcommand_from ${commands.map(one => one.name).join(' ')}`]
        : []),
    ].join('; and ')
    return [
      ...commands.map(
        one => `complete -c stampede -f -n ${quoted(inside)} -a ${one.name} -d ${quoted(one.description)}`,
      ),
      ...options.map(
        ({ name, description, takesValue }) =>
          `complete -c stampede -n ${quoted(inside)} -l ${name.replace(/^--/, '')}${takesValue ? ' -r' : ''} -d ${quoted(description)}`,
      ),
    ]
  })
  return `${lines.join('\n')}\n`
}

import type { Command } from 'commander'
import { shellWord } from '../../base/shell.js'
import { buildImage, writeImageContext } from '../../lab/containers/build-image.js'
import { TypedCommand } from '../terminal/command.js'
import type { Output } from '../terminal/output.js'

/** `understudy image build|context`: builds the Docker image from the files of this package. */
export const imageCommand = (output: Output): Command => {
  const image = new TypedCommand('image')
    .description('build the Docker image of Understudy')
    .examples('image build', 'image context build/')
  image
    .command('build')
    .description('build the Docker image from the installed package')
    .flag(
      '--base <image>',
      'base image with Node, npm and a shell, or "machine" to use the Node of this Linux machine (default: UNDERSTUDY_BASE, or Node 20 on Debian, or "machine" if that image cannot be pulled)',
    )
    .flag('--tag <name>', 'name of the image (default: UNDERSTUDY_IMAGE, or "understudy")')
    .examples('image build', 'image build --base machine', 'image build --tag registry.example/understudy:1.0')
    .run(async ({ base = process.env.UNDERSTUDY_BASE, tag = process.env.UNDERSTUDY_IMAGE ?? 'understudy' }) => {
      await buildImage({ base: base || undefined, tag })
      output.data(`built the image ${tag}`)
    })
  image
    .command('context')
    .description('write the build context of the image for "docker build"')
    .argument('<directory>', 'new or empty directory')
    .examples('image context build/', 'image context build/ && docker build --tag understudy build/')
    .run((_flags, directory: string) => {
      writeImageContext(directory)
      output.progress(`next: docker build --tag understudy ${shellWord(directory)}`)
    })
  return image
}

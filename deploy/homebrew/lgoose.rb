# A formula for Homebrew: put it into a tap as Formula/lgoose.rb, with the addresses of your release and the checksums that
# stand beside it (lgoose-VERSION-TARGET.sha256).
class Lgoose < Formula
  desc "Load tester whose test plans are Lua scripts"
  homepage "https://REPOSITORY"
  version "VERSION"
  license "Apache-2.0"

  on_linux do
    on_intel do
      url "https://REPOSITORY/releases/download/v#{version}/lgoose-#{version}-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "CHECKSUM"
    end
    on_arm do
      url "https://REPOSITORY/releases/download/v#{version}/lgoose-#{version}-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "CHECKSUM"
    end
  end

  def install
    bin.install "lgoose"
    man1.install "lgoose.1"
    bash_completion.install "completions/lgoose.bash" => "lgoose"
    zsh_completion.install "completions/_lgoose"
    fish_completion.install "completions/lgoose.fish"
    pkgshare.install "plans", "examples"
  end

  test do
    system bin/"lgoose", "demo:api/api/products/1", "-u", "1", "-i", "1"
  end
end
